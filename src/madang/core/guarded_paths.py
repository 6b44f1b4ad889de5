"""Paths for which a run asks the person, unless a rule of theirs says otherwise: one table, with reasons. Pure.

Private ones are asked for before they are read, in whatever folder: what a model has read has left this machine. Those
that run by themselves are asked for before they are changed in a folder of the person's own: what is written there is
started by the person's editor, shell, Git or build service, outside of every sandbox.

Not here is what the person starts as the code that it is, and every change of a project changes: `package.json`,
`pyproject.toml`, `conftest.py`, `build.rs`. Asking for each of these would teach people to press yes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from madang.core.path_patterns import Names, PathPattern, PathPatterns
from madang.core.phrases import Phrase, say


@dataclass(frozen=True, slots=True)
class PathGuard:
    """Patterns of paths, why the person is asked for them, and those among them that are harmless."""

    patterns: tuple[str, ...]
    reason: Phrase
    unless: tuple[str, ...] = ()


PRIVATE = (
    PathGuard(
        (".env", ".env.*", "*.env", ".secrets", ".secrets.*", "secrets.yaml", "secrets.yml", "secrets.toml"),
        say("such files hold passwords and keys of programs"),
        (
            ".env.example",
            ".env.sample",
            ".env.template",
            ".env.dist",
            "example.env",
            "sample.env",
            "template.env",
            ".secrets.example",
        ),
    ),
    PathGuard(
        ("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.ovpn"),
        say("such files hold keys"),
    ),
    PathGuard(
        ("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".ssh/", ".gnupg/", ".password-store/"),
        say("keys of the person are there"),
        ("id_rsa.pub", "id_dsa.pub", "id_ecdsa.pub", "id_ed25519.pub"),
    ),
    PathGuard(
        (
            ".aws/",
            ".azure/",
            ".oci/",
            ".kube/",
            "**/.docker/config.json",
            "**/.terraform.d/credentials.tfrc.json",
            "**/.config/gcloud/",
            "**/.config/gh/",
            "**/.config/glab-cli/",
            "**/.config/rclone/",
            "*.tfstate",
            "*.tfstate.backup",
            "*.tfvars",
            "kubeconfig",
            "credentials*.json",
            "client_secret*.json",
            "service-account*.json",
            "service_account*.json",
        ),
        say("accounts of services are there"),
    ),
    PathGuard(
        (
            ".npmrc",
            ".yarnrc.yml",
            ".pypirc",
            ".netrc",
            "_netrc",
            ".git-credentials",
            "**/.config/git/credentials",
            "**/.cargo/credentials",
            "**/.cargo/credentials.toml",
            "**/.gem/credentials",
            "**/.composer/auth.json",
            "**/.m2/settings.xml",
            ".dockercfg",
            ".htpasswd",
            ".pgpass",
            ".my.cnf",
            ".vault-token",
            "**/.local/share/keyrings/",
            "**/Library/Keychains/",
            ".bash_history",
            ".zsh_history",
            ".psql_history",
            ".mysql_history",
        ),
        say("names and passwords for servers are there"),
    ),
)
"""Asked for before they are read."""

_OPENED = say("an editor runs what it says when the folder is opened")
_SERVED = say("a build service runs what it says")

RUNNING = (
    PathGuard(
        (
            "**/.vscode/tasks.json",
            "**/.vscode/settings.json",
            "**/.vscode/launch.json",
            "**/.vscode/mcp.json",
            "*.code-workspace",
            ".idea/",
            ".run/",
            ".fleet/",
            ".zed/",
            ".devcontainer/",
            ".devcontainer.json",
            ".exrc",
            ".vimrc",
            ".nvimrc",
            ".nvim.lua",
            ".dir-locals.el",
            ".gdbinit",
            ".gitpod.yml",
            "**/.cargo/config",
            "**/.cargo/config.toml",
            "rust-toolchain",
            "rust-toolchain.toml",
        ),
        _OPENED,
    ),
    PathGuard(
        (
            "**/.claude/settings*.json",
            "**/.claude/hooks/",
            "**/.cursor/mcp.json",
            "**/.cursor/hooks.json",
            "**/.gemini/settings.json",
            ".mcp.json",
        ),
        say("another agent runs what it says when the folder is opened"),
    ),
    PathGuard(
        (".envrc", ".mise.toml", "mise.toml", ".mise/", "**/.config/mise/", "**/.config/mise.toml"),
        say("the shell runs it when it enters the folder"),
    ),
    PathGuard(
        (
            ".husky/",
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
            "lefthook.*",
            ".lefthook.*",
            ".lefthook/",
            ".gitattributes",
            ".gitmodules",
            ".gitconfig",
            "**/.config/git/",
        ),
        say("Git runs what it says at its next command"),
    ),
    PathGuard((".hg/", ".jj/", ".svn/"), say("a version control system runs what it says at its next command")),
    PathGuard(
        (".yarnrc", ".yarnrc.yml", ".yarn/", ".npmrc", ".pnpmfile.cjs", ".bazelrc"),
        say("a package manager runs what it says at its next command"),
    ),
    PathGuard(
        (
            "**/.github/workflows/",
            "**/.github/actions/",
            "**/.gitea/workflows/",
            "**/.forgejo/workflows/",
            ".gitlab-ci.yml",
            "**/.gitlab/ci/",
            ".circleci/",
            ".buildkite/",
            ".woodpecker/",
            ".woodpecker.yml",
            ".woodpecker.yaml",
            ".drone.yml",
            ".travis.yml",
            ".cirrus.yml",
            "azure-pipelines.yml",
            "bitbucket-pipelines.yml",
            "Jenkinsfile",
        ),
        _SERVED,
    ),
    PathGuard(
        ("Makefile", "GNUmakefile", "justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml"),
        say("'make' and the like run what it says"),
    ),
    PathGuard(
        (
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            "**/.config/fish/",
            "**/.config/autostart/",
            "**/.config/systemd/",
            "**/.ssh/",
            "**/Library/LaunchAgents/",
        ),
        say("it is run when the person signs in or opens a shell"),
    ),
)
"""Asked for before they are changed in a folder of the person's own."""


class GuardedPaths:
    """A table, compiled."""

    def __init__(self, guards: tuple[PathGuard, ...]) -> None:
        self._guards = [guard for guard in guards for _ in guard.patterns]
        self._patterns = PathPatterns(PathPattern(one) for guard in guards for one in guard.patterns)
        unless = {id(guard): PathPatterns(map(PathPattern, guard.unless)) for guard in guards}
        self._unless = [unless[id(guard)] for guard in self._guards]

    def find(self, names: Names) -> PathGuard | None:
        """Return why the person is asked for a path; None if they are not."""
        for number in self._patterns.find(names):
            # By its own name alone: a folder that is called as a harmless file makes nothing in it harmless.
            if not self._unless[number].find(names[-1:]):
                return self._guards[number]
        return None

    def find_below(self, names: Names) -> PathGuard | None:
        """Return why they are asked for a folder that is moved: what is below it may be in the table by its name."""
        return next((self._guards[number] for number in self._patterns.find_below(names)), None)


@cache
def private_paths() -> GuardedPaths:
    """Return the paths that are asked for before they are read. On use: most processes run no agent."""
    return GuardedPaths(PRIVATE)


@cache
def running_paths() -> GuardedPaths:
    """Return those that are asked for before they are changed in a folder of the person's own."""
    return GuardedPaths(RUNNING)
