"""Checks that what the book's pages link to exists, and that every page can be reached.

    check_book.py BOOK

`BOOK` is the folder of the HTML that mdBook has made. Every relative link and picture of every
page must lead to a file, and every fragment to an element of that page. Pages of the source that
the table of contents does not list are found too: mdBook leaves them out without a word.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SOURCE = Path(__file__).parent.parent / "docs" / "src"
# Made by mdBook for itself.
SKIPPED = {"404.html", "print.html", "toc.html"}


class Page(HTMLParser):
    """The links and the targets of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        # In the order of the page, each once.
        self.links: dict[str, None] = {}
        self.targets: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.targets.add(value)
            if value is not None and (tag, name) in {("a", "href"), ("img", "src")}:
                self.links[value] = None


def broken_links(book: Path) -> list[str]:
    pages = {
        path.resolve(): Page(path)
        for path in sorted(book.rglob("*.html"))
        if path.name not in SKIPPED
    }
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            shown = path.relative_to(book.resolve())
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                wrong.append(f"{shown}: `{link}` leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].targets:
                wrong.append(f"{shown}: `{link}` names no place of that page")
    return wrong


def unlisted_pages() -> list[str]:
    summary = (SOURCE / "SUMMARY.md").read_text(encoding="utf-8")
    pages = (path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.md"))
    return [
        f"docs/src/{page} is not in docs/src/SUMMARY.md"
        for page in sorted(pages)
        if page != "SUMMARY.md" and f"({page})" not in summary
    ]


def main() -> None:
    (folder,) = sys.argv[1:]
    book = Path(folder)
    if not (book / "index.html").is_file():
        sys.exit(f"{book} holds no book")
    wrong = broken_links(book) + unlisted_pages()
    for line in wrong:
        print(line)
    if wrong:
        sys.exit(f"{len(wrong)} things are wrong with the book")
    print(f"{book}: all links lead somewhere")


if __name__ == "__main__":
    main()
