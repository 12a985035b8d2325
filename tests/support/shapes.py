"""Secrets in the shapes in which people write them: settings, statements, command lines, listings."""

from __future__ import annotations

WORD, RANDOM, LONG = "purplehorsedishes", "Vx7pQ2mKd9LsT4wZ", "q8Zr5Kp2Xw7Lm4Tn9Vb3Yc6Hd1Js0Fg8" * 2
_AWS = "Kq8Zr5Kp2Xw7Lm4Tn9Vb3Yc6Hd1Js0Fg8Qe5Rt9"

SHAPES = [
    (WORD, "environment:\n  - POSTGRES_PASSWORD={}\n"),
    (WORD, "environment:\n  MYSQL_ROOT_PASSWORD: {}\n"),
    (WORD, 'password: "{}"'),
    (WORD, '{"dbPassword": "{}"}'),
    (WORD, "[db]\npassword = {}\n"),
    (WORD, "spring.datasource.password={}\n"),
    (WORD, "jdbc:mysql://h/db?user=app&password={}"),
    (WORD, "net use Z: \\\\srv\\share /user:ada {}"),
    (WORD, "wget --user=ada --password={} https://x.example.org"),
    (WORD, "smbclient //s/x -U ada%{}"),
    (WORD, "lftp -u ada,{} sftp://x"),
    (WORD, "svn co --username ada --password {} https://x"),
    (WORD, "pip install --index-url https://ada:{}@pypi.example.org/simple x"),
    (WORD, "<server><id>x</id><username>ada</username><password>{}</password></server>"),
    (WORD, 'connectionString="Server=s;Database=d;User Id=sa;Password={};"'),
    (WORD, 'variable "db_password" {\n  default = "{}"\n}'),
    (WORD, "ansible_ssh_pass={}"),
    (WORD, "define('DB_PASSWORD', '{}');"),
    (WORD, 'ds.setPassword("{}");'),
    (WORD, "ConvertTo-SecureString '{}' -AsPlainText -Force"),
    (WORD, "set -x DB_PASSWORD {}"),
    (WORD, "ENV DB_PASSWORD {}"),
    (WORD, 'gh secret set X -b"{}"'),
    (WORD, "vault kv put secret/x password={}"),
    (WORD, "wpa_passphrase='{}'"),
    (WORD, "echo {} | kinit ada@X"),
    (WORD, "keytool -storepass {} -list"),
    (WORD, "db.example.org:5432:shop:app:{}"),
    (WORD, "smtplib.login('a@x', '{}')"),
    (WORD, "requests.get(u, auth=('ada', '{}'))"),
    (WORD, 'name="password"\r\n\r\n{}\r\n--x'),
    (WORD, "curl -F 'password={}' https://x"),
    (WORD, "requirepass {}"),
    (WORD, "ALTER USER app WITH PASSWORD '{}';"),
    (WORD, "CREATE USER 'a'@'%' IDENTIFIED BY '{}';"),
    (WORD, "docker login -u ada \\\n  -p {}"),
    (RANDOM, '{"set-cookie":["sid={}; Path=/"]}'),
    (RANDOM + "aB7x9", "https://maps.example.org/js?key={}&x=1"),
    (LONG, "aws configure set aws_session_token {}"),
    (LONG[:43], "APP_KEY=base64:{}="),
    (LONG[:53], "$2b$12${}"),
    (LONG[:22], "ada:$apr1$h6v0x2Ki${}"),
    ("django-insecure-()#^k)w_l(-tbb)+wji#ce-u_sxl_vg_scv#mkclf^z#--", "SECRET_KEY = '{}'"),
    ("/" + _AWS, "env\nAWS_SECRET_ACCESS_KEY={}\nHOME=/x"),
    (WORD, "cat > .env <<EOF\nA={}\nEOF"),
    (WORD, "echo A={} | sudo tee -a /srv/.env"),
    (WORD, "app/.env:3:A={}"),
    (WORD, "==> .env <==\nA={}\n"),
]
"""What must not be found, and how it is written (`{}` stands for it)."""


def written() -> list[tuple[str, str]]:
    """Each secret, different from all others, and its text."""
    made = []
    for number, (value, form) in enumerate(SHAPES):
        mark = f"{chr(97 + number // 26)}{chr(97 + number % 26)}"
        own = value[:-2] + mark if value != SHAPES[42][0] else value
        made.append((own, form.replace("{}", own)))
    return made
