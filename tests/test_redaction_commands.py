"""redaction_commands: what programs are given as a password goes, whatever it looks like; the rest stays."""

from __future__ import annotations

import pytest
from seeded import CONTEXTS

from indexer.redact import Redactor
from indexer.redaction_commands import on_command_lines

COMMANDS = [
    "sshpass -p {} ssh deploy@host uptime",
    "sshpass -p{} rsync -a x host:",
    "mysql -uroot -p{} shop",
    "mysql -h db -u root --password={} -e 'select 1'",
    "mysqldump --single-transaction -uroot -p{} shop > dump.sql",
    "mariadb -u root -p{}",
    "mariadb-dump -uroot -p{} shop",
    "docker exec -i db mysql -uroot -p{} shop",
    "redis-cli -h cache -a {} ping",
    "redis-cli --pass {} ping",
    "PGPASSWORD={} psql -h db -U app shop",
    "MYSQL_PWD={} mysql shop",
    "SSHPASS={} sshpass -e ssh host",
    "psql 'host=db dbname=shop user=app password={}'",
    "docker login -u ada -p {} registry.example.org",
    "docker login --username ada --password {} registry.example.org",
    "docker login -u ada --password={}",
    "podman login -p {} quay.io",
    "helm registry login ghcr.io -u ada -p {}",
    "az login --service-principal -u app -p {}",
    "echo {} | docker login -u ada --password-stdin ghcr.io",
    "echo -n {} | docker login -u ada --password-stdin",
    "printf '%s' {} | docker login --password-stdin",
    "echo {} | sudo -S apt-get install x",
    "echo {} | gh auth login --with-token",
    "docker login -u ada --password-stdin <<< {}",
    "curl -u ada:{} https://api.example.org",
    "curl -sSu ada:{} https://api.example.org",
    "curl -uada:{} https://api.example.org",
    "curl --user ada:{} https://api.example.org",
    "curl --proxy-user=ada:{} https://api.example.org",
    "http --auth ada:{} GET example.org",
    "mongosh --host db -u root -p {} --authenticationDatabase admin",
    "mongodump -u root --password={} --db shop",
    "ldapsearch -x -D cn=admin -w {} -b dc=example",
    "sqlcmd -S db -U sa -P {} -Q 'select 1'",
    "zip -P {} out.zip in.txt",
    "7z x -p{} in.7z",
    "gpg --batch --passphrase {} -d x.gpg",
    "openssl enc -aes-256-cbc -pass pass:{} -in a -out b",
    "openssl rsa -in k -passin pass:{}",
    "rabbitmqctl add_user ada {}",
    "htpasswd -bc users ada {}",
    "aws configure set aws_secret_access_key {}",
    "kubectl create secret generic db --from-literal=password={} -n shop",
    "kubectl create secret docker-registry r --docker-username=ada --docker-password={}",
    "heroku config:set SECRET_KEY={} -a shop",
    "fly secrets set DATABASE_PASSWORD={}",
    "gh secret set DEPLOY_KEY --body {}",
    "aws ssm put-parameter --name token --type SecureString --value {}",
]
VALUES = ["correcthorsebattery", "hunter2hunter2", "Tr0ub4dor&3xyz", "s3cr3t-pw.9", "p%40ss!word"]
KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzzzzzzKEY"


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(b"k" * 32)


def filled(command: str, value: str) -> str:
    if "aws_secret" in command:
        return command.format(KEY)
    unsafe = set("&;|!") & set(value)
    return command.format(f"'{value}'" if unsafe else value)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_password_on_a_command_line_is_found(redactor: Redactor, command: str) -> None:
    left = [value for value in VALUES if value in redactor.text(filled(command, value))]
    assert KEY not in redactor.text(filled(command, ""))
    assert not left


@pytest.mark.parametrize("context", CONTEXTS)
def test_and_wherever_the_command_stands(redactor: Redactor, context: str) -> None:
    texts = [CONTEXTS[context](command.format("hunter2hunter2")) for command in COMMANDS if "aws_sec" not in command]
    assert [text for text in texts if "hunter2hunter2" in redactor.text(text)] == []


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_password_in_quotes_goes_to_their_end(redactor: Redactor, quote: str) -> None:
    found = redactor.text(f"mysql -uroot -p{quote}correct horse; battery{quote} shop")
    assert "horse" not in found
    assert found.endswith(f"{quote} shop")


@pytest.mark.parametrize(
    "text",
    [
        "mysql -u root -p shop",
        "mysql -uroot -p$MYSQL_PASSWORD shop",
        'mysql -uroot -p"${PASS}"',
        "docker run -p 8080:80 -u 1000:1000 nginx",
        "docker login -u ada -p <password>",
        "docker login -u ada -p $(cat token)",
        "ssh -p 2222 deploy@host",
        "redis-cli -a $REDIS_PASSWORD ping",
        "curl -u ada:$TOKEN https://x",
        "git push -u origin main:release",
        "chown -R app:app /srv && ls -u a:b",
        "tar -xzf a.tar.gz && cp -a src:dst out",
        "echo done | tee log",
        "echo hello | grep -S x",
        "zip -r out.zip src && unzip out.zip",
        "mkdir -p src/app && npm login",
        "git config set user.name ada",
    ],
)
def test_ordinary_commands_are_untouched(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text


def test_every_rule_has_a_kind_of_its_own() -> None:
    kinds = [rule.kind for rule in on_command_lines()]
    assert len(kinds) == len(set(kinds)) > 4
