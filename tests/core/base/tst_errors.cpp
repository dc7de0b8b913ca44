// SPDX-License-Identifier: Apache-2.0
#include "core/base/error.h"
#include "core/base/finding_codes.h"
#include "core/base/wire.h"

#include <doctest/doctest.h>

#include <set>

using namespace shardscope;

TEST_CASE("every error code has a name of its own and one of the documented exit codes")
{
    const std::set<int> documented{1, 2, 3, 4, 5, 6, 70, 130};
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(ErrorCode::Internal); ++i) {
        const auto code = static_cast<ErrorCode>(i);
        CHECK(names.insert(errorCodeName(code)).second);
        CHECK(documented.contains(exitCode(code)));
    }
    CHECK(exitCode(ErrorCode::Cancelled) == 130);
    CHECK(exitCode(ErrorCode::Unsupported) == 4);
    CHECK(exitCode(ErrorCode::Refused) == 6);
}

TEST_CASE("finding codes are unique kebab-case names")
{
    std::set<std::string_view> names;
    for (const std::string_view name : code::all()) {
        CHECK(names.insert(name).second);
        CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos);
    }
    CHECK(names.size() > 20);
}

TEST_CASE("an error is one line that names its path and its remedy")
{
    CHECK(describe({ErrorCode::NotFound, "no such tag", "/run", "use --tag"})
        == "no such tag: /run (use --tag)");
    CHECK(describe({ErrorCode::NotFound, "no such tag", {}, {}}) == "no such tag");
}

TEST_CASE("another process gets the words of a hint and the changes to the command")
{
    const Hint hint = Hint::omit("--ep") + ", or name a tag, such as " + Hint::add("--tag", "step 6");
    const Status sent = fail(ErrorCode::Usage, "it has no experts", "/run", hint);
    Status status;
    REQUIRE(fromWire(toWire(sent), status));
    REQUIRE_FALSE(status);
    const Hint& read = status.error().hint;
    CHECK(read.text == "omit --ep, or name a tag, such as `--tag step 6`");
    REQUIRE(read.retries.size() == 2);
    CHECK((read.retries[0].kind == Retry::Omit && read.retries[0].name == "--ep"));
    CHECK((read.retries[1].kind == Retry::Add && read.retries[1].value == "step 6"));
}

TEST_CASE("an error with more changes to the command than one has is refused")
{
    WireWriter out;
    out.number(1);
    out.number(static_cast<uint64_t>(ErrorCode::Usage));
    for (int i = 0; i < 3; ++i)
        out.text("");
    out.number(1 << 20);
    Status status;
    CHECK_FALSE(fromWire(out.take() + std::string(3 << 20, '\0'), status));
    REQUIRE_FALSE(status);
    CHECK(status.error().hint.retries.empty());
}
