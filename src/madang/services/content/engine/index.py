"""The search index of one store: a tantivy folder, or memory. Everything here blocks and belongs into a thread.

It holds no text, only which words are in which chunk, and can be thrown away at any time: the rows are the truth. It
knows what made it (`version`); what anything else made is not read.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from madang.services.content.domain import Hit
from madang.storage.search.tokens import Tokenizer

if TYPE_CHECKING:
    import tantivy

HEAP_BYTES = 50_000_000
BM25_K1 = 1.2
INLINE_SEARCH_MAX_POSTINGS = 50_000
"""So many places of words are looked at in well under a millisecond."""


class BrokenIndex(Exception):
    """The index is not there, cannot be read, or was made by something else: make it anew from the rows."""


@contextmanager
def _at_the_files() -> Iterator[None]:
    """Tell every failure at the files in one way; a full disk and a damaged file fail alike."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise BrokenIndex(str(error)) from error
    except BaseException as error:
        # A damaged file can make tantivy panic, which arrives here as something that is no `Exception`.
        if type(error).__name__ != "PanicException":
            raise
        raise BrokenIndex(str(error)) from error


class StoreIndex:
    """One store's index: its files, a reader, and while it is written to a writer.

    Every method that touches files raises `BrokenIndex` when it cannot.
    """

    def __init__(self, folder: Path | None, tokenizer: Tokenizer) -> None:
        self._folder = folder / "words" if folder else None
        self._version = folder / "version" if folder else None
        self._tokenizer = tokenizer
        self._index: tantivy.Index | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._seen: object = None

    @property
    def is_open(self) -> bool:
        return self._index is not None

    def open(self) -> None:
        """Open what is there, unless it is open."""
        if self._index is not None:
            return
        if self._folder is None or not self._is_ours():
            raise BrokenIndex
        import tantivy

        with _at_the_files():
            seen = self._stamp()
            index = tantivy.Index.open(str(self._folder))
            index.config_reader("manual")
        self._index, self._seen = index, seen

    def make(self) -> None:
        """Begin an empty index in place of whatever is there; `finish` has to follow."""
        import tantivy

        self.close()
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("chunk", fast=True)
        builder.add_unsigned_field("content", indexed=True)
        builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
        schema = builder.build()
        with _at_the_files():
            if self._folder is None or self._version is None:
                index = tantivy.Index(schema)
            else:
                self._version.unlink(missing_ok=True)
                shutil.rmtree(self._folder, ignore_errors=True)
                self._folder.mkdir(mode=0o700, parents=True)
                index = tantivy.Index(schema, path=str(self._folder))
            index.config_reader("manual")
            self._index, self._seen = index, self._stamp()

    def finish(self) -> None:
        """Say that the new index may be used: what it lacks is noted elsewhere."""
        if self._version is not None:
            with _at_the_files():
                self._version.write_text(self._made_by(), encoding="utf-8")

    def put(self, content_no: int, chunks: Sequence[tuple[int, str]], *, anew: bool) -> None:
        """Add chunks of a content, each the number of its row and its text; `anew` drops what was there of it."""
        import tantivy

        assert self._index is not None
        with _at_the_files():
            writer = self._writing()
            if anew:
                # By a query: by a term, tantivy would look for a signed number and find nothing.
                query = tantivy.Query.term_query(self._index.schema, "content", content_no)
                writer.delete_documents_by_query(query)
            for chunk_no, text in chunks:
                tokens = self._tokenizer.tokens(text)
                if tokens:
                    document = tantivy.Document()
                    document.add_unsigned("chunk", chunk_no)
                    document.add_unsigned("content", content_no)
                    document.add_text("body", " ".join(tokens))
                    writer.add_document(document)

    def commit(self) -> None:
        """Make what was added and removed visible, and durable."""
        assert self._index is not None
        with _at_the_files():
            self._writing().commit()
            self._reload(self._index)

    def search(self, terms: Sequence[str], limit: int) -> list[Hit]:
        """Return the best chunks that hold any of the terms, best first."""
        self.open()
        index = self._index
        if index is None:
            raise BrokenIndex  # somebody has just found it broken
        with _at_the_files():
            if self._stamp() != self._seen:
                if not self._is_ours():
                    raise BrokenIndex
                self._reload(index)
            searcher = index.searcher()
            return _best(index.schema, searcher, _frequency(searcher, terms), limit)

    def search_briefly(self, terms: Sequence[str], limit: int) -> list[Hit] | None:
        """As `search`, where that takes less than the way to a thread and back; else None, and nothing was done."""
        index = self._index
        with _at_the_files():
            if index is None or self._stamp() != self._seen:
                return None
            searcher = index.searcher()
            frequency = _frequency(searcher, terms)
            return (
                _best(index.schema, searcher, frequency, limit)
                if sum(frequency.values()) <= INLINE_SEARCH_MAX_POSTINGS
                else None
            )

    def close_writer(self) -> None:
        """Let merges come to their end, and let go of the lock on the folder."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with _at_the_files():
                writer.wait_merging_threads()

    def discard_writer(self) -> None:
        """Let go of a writer that failed; what it did not commit is lost."""
        self._writer = None

    def close(self) -> None:
        self._writer = None
        self._index = None

    def _writing(self) -> tantivy.IndexWriter:
        if self._writer is None:
            assert self._index is not None
            self._writer = self._index.writer(HEAP_BYTES, 1)
        return self._writer

    def _reload(self, index: tantivy.Index) -> None:
        seen = self._stamp()
        index.reload()
        self._seen = seen

    def _stamp(self) -> object:
        """Return what changes with every commit, whichever process made it."""
        if self._folder is None:
            return None
        meta = os.stat(self._folder / "meta.json")
        return meta.st_ino, meta.st_mtime_ns, meta.st_size

    def _is_ours(self) -> bool:
        if self._version is None:
            return True
        try:
            return self._version.read_text(encoding="utf-8") == self._made_by()
        except (OSError, ValueError):
            return False

    def _made_by(self) -> str:
        import tantivy

        made_by = tantivy.__version__  # type: ignore[attr-defined]  # its stubs leave it out
        return f"{made_by}\n{self._tokenizer.name}\n"


def _frequency(searcher: tantivy.Searcher, terms: Sequence[str]) -> dict[str, int]:
    return {term: searcher.doc_freq("body", term) for term in terms}


def _best(schema: tantivy.Schema, searcher: tantivy.Searcher, frequency: dict[str, int], limit: int) -> list[Hit]:
    """Return the best chunks that hold any of the terms, best first."""
    import tantivy

    query = tantivy.Query.boolean_query(
        [
            (tantivy.Occur.Should, tantivy.Query.term_query(schema, "body", term, index_option="freq"))
            for term, count in frequency.items()
            if count
        ]
    )
    found: Any = searcher.search(query, limit, count=False).hits
    numbers: Any = searcher.fast_field_values("chunk", [address for _, address in found])
    # The best there could be: every word, without end. A word that is nowhere weighs like one that is there once:
    # by its own rarity, the "when" of a question would outweigh in a small store what the question is about.
    total, counts = searcher.num_docs, [max(count, 1) for count in frequency.values()]
    best = sum(math.log(1 + (max(total - n, 0) + 0.5) / (n + 0.5)) for n in counts) * (BM25_K1 + 1)
    return [Hit(no, min(1.0, math.sqrt(score / best))) for (score, _), no in zip(found, numbers, strict=True)]
