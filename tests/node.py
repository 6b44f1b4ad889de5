"""What scripts/node-packages installs: the Node programs as commands, and the script that judges accessibility."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ROOT / ".node" / "node_modules"
CONFORMANCE = PACKAGES / "@modelcontextprotocol" / "conformance"
INSPECTOR = PACKAGES / "@modelcontextprotocol" / "inspector"
EXAMPLES = PACKAGES / "@modelcontextprotocol"
AXE = PACKAGES / "axe-core" / "axe.min.js"


def conformance_command(*arguments: str) -> list[str]:
    """Return the command of the protocol's own conformance runner."""
    return _command(CONFORMANCE / "dist" / "index.js", *arguments)


def inspector_command(*arguments: str) -> list[str]:
    """Return the command of the MCP Inspector."""
    return _command(INSPECTOR / "clients" / "launcher" / "build" / "index.js", *arguments)


def example_server_command(name: str) -> list[str]:
    """Return the command of an example server of MCP Apps, over standard input and output."""
    return _command(EXAMPLES / f"server-{name}" / "dist" / "index.js", "--stdio")


def _command(program: Path, *arguments: str) -> list[str]:
    assert program.exists(), f"{program} is not there: scripts/node-packages installs it"
    # Not through .bin: older npms make no link there for a package that only some machines get.
    (node,) = PACKAGES.glob("node-*/bin/node")
    return [str(node), str(program), *arguments]
