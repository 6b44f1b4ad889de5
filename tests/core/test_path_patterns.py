"""Patterns for paths: as .gitignore has them, in every spelling that a file system may take for the same name."""

from __future__ import annotations

import unicodedata

import pytest

from madang.core.guarded_paths import private_paths, running_paths
from madang.core.path_patterns import PathPattern, PathPatterns

NFD = unicodedata.normalize("NFD", "비밀.txt")


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        (".env", ".env", True),
        (".env", "deep/down/.env", True),
        (".env", ".env/below", True),
        (".env", ".environment", False),
        (".env", ".ENV", True),
        (".env", ".e\u200bnv", True),
        (".env", ".env.", True),
        ("비밀.txt", NFD, True),
        (NFD, "비밀.txt", True),
        ("*.pem", "a/server.PEM", True),
        ("*.pem", "a/server.pem.txt", False),
        ("id_rsa*", "id_rsa.old", True),
        (".ssh/", "home/.ssh/config", True),
        ("docs/**", "docs/a/b.md", True),
        ("docs/**", "other/docs/a.md", False),
        ("/Makefile", "Makefile", True),
        ("/Makefile", "sub/Makefile", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/*/b", "a/x/y/b", False),
        ("**/.kube/config", "home/.kube/config", True),
        ("file?.[ch]", "src/file1.c", True),
        ("[!a]b", "ab", False),
        ("**", "anything/at/all", True),
    ],
)
def test_a_pattern_fits_as_gitignore_has_it(pattern: str, path: str, fits: bool) -> None:
    names = path.split("/")

    assert PathPattern(pattern).fits(names) == fits
    assert bool(PathPatterns([PathPattern("nothing"), PathPattern(pattern)]).find(names)) == fits


def test_what_allows_takes_no_other_case_for_the_same_name() -> None:
    assert PathPattern("docs/**", is_exact=True).fits(["docs", "a"])
    assert not PathPattern("docs/**", is_exact=True).fits(["Docs", "a"])
    assert PathPattern("비밀.txt", is_exact=True).fits([NFD])


@pytest.mark.parametrize(
    ("pattern", "folder", "may"),
    [
        (".env", "config", False),
        (".env", ".env", True),
        ("**/.github/workflows/", ".github", True),
        ("**/.github/workflows/", "sub/.github", True),
        ("**/.github/workflows/", "sub", False),
        ("secrets/prod/key", "secrets", True),
        ("secrets/prod/key", "secrets/prod", True),
        ("secrets/prod/key", "prod", False),
        ("a/**/b", "a/x", True),
    ],
)
def test_a_folder_that_is_moved_may_carry_what_a_pattern_is_about(pattern: str, folder: str, may: bool) -> None:
    assert PathPattern(pattern).may_fit_below(folder.split("/")) == may


def test_a_pattern_of_many_stars_is_quick() -> None:
    pattern = PathPattern("*a" * 60 + "b")

    assert not pattern.fits(["a" * 255] * 20)


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".env.local",
        "app/.env.production",
        "prod.env",
        "server.pem",
        "tls.key",
        "id_rsa",
        "id_ed25519.bak",
        ".ssh/config",
        ".aws/credentials",
        ".npmrc",
        ".pypirc",
        ".netrc",
        "credentials.json",
        "credentials-old.json",
        "cert.p12",
        "cert.pfx",
        ".git-credentials",
        ".kube/config",
        ".docker/config.json",
        ".env.example/.env",
        "terraform.tfstate",
        ".pgpass",
        "prod.tfvars",
    ],
)
def test_private_paths_are_in_the_table(path: str) -> None:
    assert private_paths().find(path.split("/")) is not None


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        ".env.sample",
        ".env.template",
        "environment.py",
        "README.md",
        "docs/keys.md",
        "id_rsa.pub",
        ".docker/Dockerfile",
        "src/credentials.py",
        "monkey.txt",
        ".gitignore",
        "package.json",
    ],
)
def test_what_only_looks_private_is_not(path: str) -> None:
    assert private_paths().find(path.split("/")) is None


@pytest.mark.parametrize(
    "path",
    [
        ".envrc",
        ".vscode/tasks.json",
        ".vscode/settings.json",
        ".vscode/launch.json",
        "sub/.vscode/tasks.json",
        ".idea/workspace.xml",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".husky/pre-commit",
        ".pre-commit-config.yaml",
        "Makefile",
        "makefile",
        "GNUmakefile",
        ".gitattributes",
        ".devcontainer/devcontainer.json",
        ".mcp.json",
        ".hg/hgrc",
        ".cargo/config.toml",
        ".yarnrc.yml",
        ".bashrc",
        "my.code-workspace",
    ],
)
def test_files_that_run_by_themselves_are_in_the_table(path: str) -> None:
    assert running_paths().find(path.split("/")) is not None


@pytest.mark.parametrize(
    "path",
    [
        "package.json",
        "conftest.py",
        "pyproject.toml",
        ".vscode/extensions.json",
        ".github/CODEOWNERS",
        "README.md",
    ],
)
def test_the_code_of_a_project_is_not(path: str) -> None:
    assert running_paths().find(path.split("/")) is None
