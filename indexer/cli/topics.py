"""The texts of `help TOPIC`: what a person wants to know in a minute; README.md has the rest.

Every command, option and setting named in them is held to exist by tests/cli/test_help.py.
"""

from __future__ import annotations

SEARCH = """\
Write words, or a plain question; case, accents and the form of a word do not matter.

  transcript-indexer search why did the login time out
  transcript-indexer search '"connection reset" -redis' --since 7d
  transcript-indexer search timeout --project . --kind prompt,assistant

"exact phrase" means these words in this order, -word leaves out, title:word looks in titles.
Words and meaning are asked together; `--mode lexical` asks words alone, `--mode semantic` meaning
alone. A note says when one of them was missing. Without words the newest come.

Each result has an id, as prompt:12. `show ID` prints it whole, `timeline ID` what stood around it,
`similar ID` what is like it. `by-file PATH`, `by-type bugfix` and `by-concept gotcha` narrow a search;
`search --help` lists every filter. `--json` is for programs.
"""
PRIVACY = """\
Everything stays on this machine. No network connection is opened and no token is spent, unless your
settings name a service: `vectors.url`. Transcripts are only read, and the folder of the memory is
for you alone (mode 0700). Nothing in it is encrypted.

Secrets are taken out before anything is stored: keys and tokens of known forms, passwords in URLs,
headers and assignments, private keys, what stands between <private> and </private>, and the content
of files such as .env. A mark as [REDACTED:github-token:1f2e3d4c] stands in their place. What has no
known form is not found: use <private>, or rules of your own (`redact.rule`), and then
`transcript-indexer redact --rescan`.

`exclude.projects` names projects that are not remembered. See also: help forget.
"""
FORGET = """\
Without --yes, nothing is changed: you are told what would go, and what stays because another session
shows it too.

  transcript-indexer forget --session 8c1f0a52
  transcript-indexer forget --id prompt:12 --yes
  transcript-indexer forget --project shop-api --yes
  transcript-indexer forget --before 2026-01-01 --yes
  transcript-indexer forget --excluded --yes

When the command returns, no byte is left in any file of the memory: rows, index, log, archive and
vectors; if somebody was reading, it says that the last of it goes at the next idle moment. What is
forgotten does not come back with a rescan. Transcripts are Claude Code's and stay; so do your backups.
"""
VECTORS = """\
Vectors find what means the same in other words or in another language. Small models on your own
processor make them (`vectors.models`); nothing is sent anywhere unless `url` is among the models.

  transcript-indexer vectors status      how far they are
  transcript-indexer vectors sync        bring them up to date, and wait
  transcript-indexer vectors rebuild     make the Chroma index anew from the vectors in SQLite

A process of their own holds models and index; `watch` or a search starts it, and it leaves after
`vectors.linger_minutes` without a question. Until it is warm, and wherever something is missing, words
alone are searched and a note says so. `vectors.store = "none"` switches all of it off.
"""
COMPRESS = """\
When a turn is finished it becomes observations: what was committed, edited, repaired, found out and
decided. Rules make them from what stands in the transcript: no model, no token, no network. `rescan`
and `watch` do it by themselves; the same history always gives the same memory.

  transcript-indexer compress --dry-run      what is left to do
  transcript-indexer observations --project .
  transcript-indexer summary SESSION
  transcript-indexer work                    what agents left open
  transcript-indexer context                 what a new session of this project should know

With `dedup.enabled`, observations of the same title are shown as one; `dedup candidates` lists pairs that
are merely alike, for you to decide on.
"""
SERVICE = """\
  transcript-indexer service install --dry-run    the unit, and what would be said
  transcript-indexer service install              from now on, and at every login
  transcript-indexer service status
  transcript-indexer service logs --follow
  transcript-indexer service uninstall            the memory stays; --purge deletes it too

A systemd user unit on Linux, a launchd agent on macOS (nobody has run that one yet). Install the program
for good first (`pipx install .` or `uv tool install .`): a command in a cache or a project's .venv is
refused. Run `service install` again after an upgrade, or after changing `storage.home`. Without a service,
`watch` in a terminal does the same, and `rescan` reads once.

systemd ends user services when you log out: `loginctl enable-linger` keeps them.
"""
MCP = """\
Claude itself can search the memory:

  claude mcp add --scope user memory -- transcript-indexer mcp

Its tools are search, timeline, get_observations, get_tool_uses, recent and work; all only read, and need no
running service. memory://observation/12 is an observation as a resource.

By HTTP, to this machine alone: `transcript-indexer mcp --http 8123`, with the token in mcp.token beside the
database. The plugins in this repository bring the same, a skill, and an optional hook that tells each
new session what earlier ones were about. Capturing needs none of it.
"""
CONFIG = """\
  transcript-indexer config init     a commented file to edit
  transcript-indexer config show     every setting, its value, and where that came from
  transcript-indexer config path     where the file is looked for

Strongest first: a flag, an environment variable, your file, the default. The variable of
`watch.sweep_seconds` is TRANSCRIPT_INDEXER_WATCH_SWEEP_SECONDS. A setting that does not exist is an
error, never ignored. `--home DIR` is another memory, `--root DIR` another folder of transcripts.
"""
ARCHIVE = """\
Claude Code deletes transcripts after 30 days. Every line that was read is kept, redacted and compressed,
in the folder `archive` of the memory.

  transcript-indexer archive status
  transcript-indexer archive restore --session 8c1f0a52 --to back
  transcript-indexer archive prune           what is over your limits; --yes takes it out

At `archive.max_mb` nothing more is archived and nothing is deleted. `rescan --rebuild` makes the whole
memory anew from transcripts and archive, and loses nothing.
"""
TROUBLESHOOTING = """\
  transcript-indexer doctor          what is wrong, and for each thing what to do
  transcript-indexer status          how far it has come, how it is, and the next command to run
  transcript-indexer service logs    what the service said

Nothing is found: `status` says how much is stored; `rescan` reads what is there. Only words are found:
`vectors status`. A folder is missing: `config show` says which are read. A project has another name than you
thought: `project explain .` says why.

Exit codes: 0 done, 1 a problem was found, 2 the command line or the settings are wrong, 3 no memory yet,
4 busy, 5 the database is damaged, 6 it was written by a newer version.

A damaged database: stop the service, move index.db away and keep it (what Claude Code has deleted since is
only in it), then `rescan`. README.md has an entry for each finding of `doctor`.
"""
TOPICS = {
    "search": ("finding things", SEARCH),
    "privacy": ("what is stored, and what is not", PRIVACY),
    "forget": ("taking something out for good", FORGET),
    "archive": ("transcripts that outlive Claude Code's own", ARCHIVE),
    "compress": ("how turns become memory", COMPRESS),
    "vectors": ("finding by meaning", VECTORS),
    "service": ("keeping it up to date by itself", SERVICE),
    "mcp": ("Claude's own access", MCP),
    "config": ("settings", CONFIG),
    "troubleshooting": ("when something is wrong", TROUBLESHOOTING),
}
"""Topic -> what it is about, and its text."""
