#!/usr/bin/env python3
"""Shows Doxygen the plain comments of public headers as documentation: doxygen_filter.py FOLDER HEADER...
writes copies for it. As Doxygen's own filter it would be started several times for each header, half a minute in all.

A comment before a declaration describes it and those that follow without a blank line. One
after a declaration on its line describes it, too, with the lines below that begin in the same column;
the one at the head of a file describes the file. What is indented by three spaces or more is code.
"""
import os
import re
import sys


# Comparisons, copies and moves say all there is to say.
SPECIAL_MEMBER = (r"\s*(friend bool operator==|(\w+)\((const \2&|\2&&)|\w+& operator=\(|"
                  r"\w+\(std::initializer_list<value_type>)")


def as_text(text):
    return "    " + text if text.startswith("   ") else text


def is_declaration(line):
    return not re.match(r"\s*(#|\}|namespace|struct|class|enum|public:|private:)", line)


def indent_of(line):
    return len(line) - len(line.lstrip())


def filter_cpp(lines):
    head = True
    column = None  # where a comment after a declaration began
    comment = []  # the last one before a declaration
    ended = False  # whether that has ended: one right after it shares its comment
    for line in lines:
        if own := re.fullmatch(r"(\s*)//(?!/)(.*)", line):
            spaces, text = own.groups()
            if head is True:
                yield f"/// @file\n///{as_text(text)}"
                head = "inside"
            elif column == len(spaces):
                yield f"{spaces}///<{text}"
            else:
                comment = [*([] if ended else comment), f"{spaces}///{as_text(text)}"]
                column, ended = None, False
                yield comment[-1]
            continue
        if head == "inside":
            yield ""
            head = None
        if not line.strip():
            comment = []
        if re.match(SPECIAL_MEMBER, line):
            continue
        column = None
        shares = ended and comment and indent_of(line) == indent_of(comment[0]) and is_declaration(line)
        if after := re.fullmatch(r"(.*?\S {2,})//(?!/)(.*)", line):
            column = len(after[1])
            line = f"{after[1]}///<{after[2]}"
        elif shares:
            yield from comment
        yield line
        ended = re.search(r"[;}]( *///<.*)?$", line) is not None


def filter_c(text):
    text = text.replace("/* ", "/** @file\n * ", 1)
    text = re.sub(r"(?m)^/\* ----.*\*/$", "", text)
    text = re.sub(r"(?m)^(\s*)/\* ", r"\1/** ", text)
    text = re.sub(r"(?m)(\S *)/\* (.*?) \*/$", r"\1/**< \2 */", text)
    return re.sub(r"(?m)^ \*   ", " *       ", text)


for header in sys.argv[2:]:
    with open(header, encoding="utf-8") as f:
        content = f.read()
    copy = os.path.join(sys.argv[1], header)
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    with open(copy, "w", encoding="utf-8") as f:
        print(filter_c(content) if "/c/" in header else "\n".join(filter_cpp(content.splitlines())), file=f)
