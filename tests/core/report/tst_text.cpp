// SPDX-License-Identifier: Apache-2.0
#include "core/report/text/printable.h"
#include "core/report/text/text_table.h"

#include <doctest/doctest.h>

using namespace shardscope;

TEST_CASE("characters that mislead a reader or control a terminal are made visible")
{
    CHECK(printable("layers.0.mlp Ü 日本") == "layers.0.mlp Ü 日本");
    CHECK(printable("\x1b[31m") == "\\x1b[31m");
    CHECK(printable("a\nb\tc\x7f") == "a\\x0ab\\x09c\\x7f");
    CHECK(printable("\xff\xfe") == "\\xff\\xfe");
    CHECK(printable("\xC2\x9B"
                    "31m")
        == "\\u{9b}31m"); // an escape in eight bits
    CHECK(printable("abc\xE2\x80\xAE"
                    "def")
        == "abc\\u{202e}def"); // right to left from here
    CHECK(printable("a\xE2\x80\x8B"
                    "b")
        == "a\\u{200b}b"); // nothing to be seen
    CHECK(printable("\xED\xA0\x80") == "\\xed\\xa0\\x80"); // half of a surrogate pair
}

TEST_CASE("columns are aligned by visible width")
{
    TextTable table({{"name"}, {"count", TextTable::Align::Right}});
    table.add({"a", "1"});
    table.add({"日本", "200"});
    table.add({"Übung"});
    std::string out;
    table.write([&](std::string_view piece) { out += piece; }, {}, "  ");
    CHECK(out == "  name   count\n  a          1\n  日本     200\n  Übung\n");
}

TEST_CASE("colour only if requested")
{
    CHECK(TextStyle{false}.red("x") == "x");
    CHECK(TextStyle{true}.red("x") == "\x1b[31mx\x1b[0m");
    CHECK(TextStyle{true}.bold("").empty());
}

TEST_CASE("fields escape raw text once and keep styled text")
{
    TextFields fields;
    fields.add("path", "run\x1b[31m\n");
    fields.add("again", printable("run\x1b[31m"));
    fields.addStyled("styled", TextStyle{true}.red("no"));
    std::string out;
    fields.write([&](std::string_view text) { out += text; }, {});
    CHECK(out == "path    run\\x1b[31m\\x0a\nagain   run\\x1b[31m\nstyled  \x1b[31mno\x1b[0m\n");
}
