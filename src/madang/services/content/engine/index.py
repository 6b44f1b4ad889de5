"""The search index of one store: a tantivy folder, or memory. Everything here blocks and belongs in a thread.

It holds no text, only the tokens of each chunk, and can be deleted at any time: it is rebuilt from the rows. A file
beside it (`version`) names the engine and the tokenizer that wrote it. An index of another version is set aside, and
searched until the new one has everything.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from madang.core.errors import Unavailable
from madang.core.phrases import say
from madang.services.content.domain.search import RankedChunk
from madang.services.content.engine.matching import INDEX_OPTIONS, WEAK, WORDS, Snapshot
from madang.system.locks import lock_within, try_lock
from madang.system.memory import bound_free_memory
from madang.text.search.queries import Query, Tokens

if TYPE_CHECKING:
    import tantivy

HEAP_BYTES = 50_000_000
META_LOCK = ".tantivy-meta.lock"
META_LOCK_WAIT_S = 1.0


class IndexUnusable(Exception):
    """The index is missing, damaged or of another version, or cannot be written: recreate it from the rows."""


class IndexBusy(Exception):
    """Another process keeps the index locked, perhaps because it was stopped: what is loaded can still be searched."""


@contextmanager
def _index_io() -> Iterator[None]:
    """Raise every failure of the index files as `IndexUnusable`: tantivy reports a full disk like a damaged file."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise IndexUnusable(str(error)) from error
    except BaseException as error:
        # A damaged file can make tantivy panic, which arrives here as a `BaseException` that is no `Exception`.
        if type(error).__name__ != "PanicException":
            raise
        raise IndexUnusable(str(error)) from error


class StoreIndex:
    """The index of one store: its files, a reader and, while it is written to, a writer.

    Every method that touches files raises `IndexUnusable` when that fails, and `IndexBusy` when another process keeps
    them locked.
    """

    def __init__(self, folder: Path | None, analysis_name: str) -> None:
        self._files = folder / "words" if folder else None
        self._meta = str(self._files / "meta.json") if self._files else None
        self._version = folder / "version" if folder else None
        self._analysis_name = analysis_name
        self._index: tantivy.Index | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._snapshot: Snapshot | None = None  # what is loaded
        self._is_busy = False

    @property
    def is_open(self) -> bool:
        return self._index is not None

    def older(self) -> OlderIndex | None:
        """Return the index of an older version that was set aside from here; one in memory has none."""
        return OlderIndex(self._files.with_name("older")) if self._files else None

    def open(self) -> None:
        """Open the index, unless it is open."""
        if self._index is None:
            if self._files is None or not self._is_current():
                raise IndexUnusable
            with _index_io():
                self._check_meta_lock()
                generation = self._generation()
                index = _opened(self._files)
                self._snapshot = Snapshot(index, generation)
                self._index = index

    def open_for_writing(self) -> None:
        """Open the index, unless it is open and still the current one: another version may have replaced it."""
        if self._index is not None and not self._is_current():
            self.close()
        self.open()

    def set_aside(self) -> None:
        """Move an index of another version to where `older` finds it; one that cannot be opened stays."""
        self.close()
        if self._files is None or self._version is None or not self._version.exists() or self._is_current():
            return
        older = self._files.with_name("older")
        with suppress(IndexUnusable), _index_io():
            _opened(self._files)
            if not older.exists():
                os.rename(self._files, older)

    def create(self) -> None:
        """Replace the index by an empty one. Nothing reads it before `write_version`."""
        import tantivy

        self.close()
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("chunk", fast=True)
        builder.add_unsigned_field("content", indexed=True)
        for field, option in INDEX_OPTIONS.items():
            builder.add_text_field(field, tokenizer_name="whitespace", index_option=option)
        schema = builder.build()
        with _index_io():
            if self._files is None or self._version is None:
                index = tantivy.Index(schema)
            else:
                self._version.unlink(missing_ok=True)
                shutil.rmtree(self._files, ignore_errors=True)
                self._files.mkdir(mode=0o700, parents=True)
                index = tantivy.Index(schema, path=str(self._files))
            index.config_reader("manual")
            self._snapshot = Snapshot(index, self._generation())
            self._index = index

    def write_version(self) -> None:
        """Mark a created index as usable; every change that it lacks has to be in the queue by then."""
        if self._version is not None:
            with _index_io():
                self._version.write_text(self._current_version(), encoding="utf-8")

    def replace(self, contents: Sequence[int], chunks: Sequence[tuple[int, int, Tokens]]) -> None:
        """Remove all chunks of `contents`, and add chunks, each as its content, its row number and its tokens."""
        import tantivy

        assert self._index is not None
        with _index_io():
            writer = self._open_writer()
            for content_no in contents:
                # By a query: for a term, tantivy takes the number as signed, and no document matches.
                query = tantivy.Query.term_query(self._index.schema, "content", content_no)
                writer.delete_documents_by_query(query)
            for content_no, chunk_no, tokens in chunks:
                if tokens.words or tokens.weak:
                    document = tantivy.Document()
                    document.add_unsigned("chunk", chunk_no)
                    document.add_unsigned("content", content_no)
                    document.add_text(WORDS, " ".join(tokens.words))
                    if tokens.weak:
                        document.add_text(WEAK, " ".join(tokens.weak))
                    writer.add_document(document)

    def commit(self) -> None:
        """Make additions and removals visible and durable."""
        assert self._index is not None
        with _index_io():
            self._check_meta_lock()
            self._open_writer().commit()
            self._reload(self._index)

    def search(self, query: Query, limit: int, *, is_reloaded: bool = True) -> list[RankedChunk]:
        """Return the best chunks with any of the terms, best first.

        `is_reloaded` says whether commits of other processes are loaded first: only that can find the index busy.
        """
        self.open()
        index, snapshot = self._index, self._snapshot
        if index is None or snapshot is None:
            raise IndexUnusable  # another task has just closed it, to repair it or for want of use
        with _index_io():
            if is_reloaded and self._generation() != snapshot.generation:
                if not self._is_current():
                    raise IndexUnusable
                snapshot = self._reload(index)
            return snapshot.rank(query, limit)

    def search_inline(self, query: Query, limit: int) -> list[RankedChunk] | None:
        """Search if that takes less time than switching to a thread and back; else do nothing and return None."""
        snapshot = self._snapshot
        with _index_io():
            if self._index is None or snapshot is None or self._generation() != snapshot.generation:
                return None
            return snapshot.rank_quickly(query, limit)

    def close_writer(self) -> None:
        """Wait for merges, and release tantivy's lock on the folder."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with _index_io():
                self._check_meta_lock()
                writer.wait_merging_threads()

    def discard_writer(self) -> None:
        """Drop a writer that failed, with what it did not commit."""
        self._writer = None

    def close(self) -> None:
        self._writer = None
        self._snapshot = None
        self._index = None

    def _open_writer(self) -> tantivy.IndexWriter:
        if self._writer is None:
            assert self._index is not None
            bound_free_memory()
            self._writer = self._index.writer(HEAP_BYTES, 1)
        return self._writer

    def _check_meta_lock(self) -> None:
        """Check that no other process stays in the section in which tantivy loads and removes files.

        tantivy waits there for ever. A process that was stopped inside would take one of our threads with each search,
        until none is left for anything else.

        Raises:
            IndexBusy: one stays there.
        """
        if self._files is None:
            return
        try:
            fd = os.open(self._files / META_LOCK, os.O_RDWR)
        except FileNotFoundError:
            return
        try:
            # Once it was waited for in vain, every later search would wait as long, and threads are few.
            is_free = try_lock(fd) if self._is_busy else lock_within(fd, META_LOCK_WAIT_S)
            self._is_busy = not is_free
            if not is_free:
                raise IndexBusy
        finally:
            os.close(fd)

    def _reload(self, index: tantivy.Index) -> Snapshot:
        self._check_meta_lock()
        generation = self._generation()
        index.reload()
        snapshot = Snapshot(index, generation)
        if self._index is index:  # else another task has just closed it to repair it
            self._snapshot = snapshot
        return snapshot

    def _generation(self) -> object:
        """Return a value that changes with every commit of any process."""
        if self._meta is None:
            return None
        meta = os.stat(self._meta)
        return meta.st_ino, meta.st_mtime_ns, meta.st_size

    def _is_current(self) -> bool:
        if self._version is None:
            return True
        try:
            return self._version.read_text(encoding="utf-8") == self._current_version()
        except (OSError, ValueError):
            return False

    def _current_version(self) -> str:
        import tantivy

        engine = tantivy.__version__  # type: ignore[attr-defined]  # its stubs leave it out
        return f"{engine}\n{self._analysis_name}\n"


class OlderIndex(StoreIndex):
    """An index of an older version: searched until a new one has everything, and not written to."""

    def __init__(self, files: Path) -> None:
        super().__init__(None, "")
        self._files: Path = files
        self._meta = str(files / "meta.json")
        self._has_weak = False

    @property
    def exists(self) -> bool:
        return self._files.is_dir()

    def open(self) -> None:
        if self._index is None:
            super().open()
            with _index_io():
                meta = json.loads((self._files / "meta.json").read_text(encoding="utf-8"))
            self._has_weak = any(field["name"] == "weak" for field in meta["schema"])

    def search(self, query: Query, limit: int, *, is_reloaded: bool = True) -> list[RankedChunk]:
        self.open()
        terms = tuple(term for term in query.terms if self._has_weak or not term.is_weak)
        # It does not change; and what is loaded can be searched also while the files are being removed.
        return super().search(replace(query, terms=terms, typed=()), limit, is_reloaded=False) if terms else []

    def remove(self) -> None:
        """Remove its files."""
        self.close()
        shutil.rmtree(self._files, ignore_errors=True)


def _opened(files: Path) -> tantivy.Index:
    import tantivy

    index = tantivy.Index.open(str(files))
    index.config_reader("manual")
    return index


def index_unavailable() -> Unavailable:
    return Unavailable(
        say("The search index cannot be written or read. What was added is kept."),
        hint=say("Look for free space in the data folder, then call again."),
    )
