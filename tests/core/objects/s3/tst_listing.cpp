// SPDX-License-Identifier: Apache-2.0
#include "core/objects/s3/listing.h"

#include <doctest/doctest.h>

#include <limits>

namespace shardscope {

using objects::parseListing;

namespace {

std::string object(const std::string& key, const std::string& size = "12",
    const std::string& tag = "&quot;ab&quot;", const std::string& time = "2026-11-30T13:32:20.000Z")
{
    return "<Contents><Key>" + key + "</Key><LastModified>" + time + "</LastModified><ETag>" + tag
        + "</ETag><Size>" + size + "</Size></Contents>";
}

std::string folder(const std::string& prefix)
{
    return "<CommonPrefixes><Prefix>" + prefix + "</Prefix></CommonPrefixes>";
}

std::string page(const std::string& content)
{
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
           "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        + content + "</ListBucketResult>";
}

void checkHostile(const std::string& xml)
{
    CAPTURE(xml);
    const auto read = parseListing(xml, "runs/");
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::Hostile);
}

} // namespace

TEST_CASE("a page of a listing: files, folders, and the next page")
{
    const auto read
        = parseListing(page(object("runs/a.pt") + object("runs/b &amp; c.pt", "0") + folder("runs/tag/")
                           + "<IsTruncated>true</IsTruncated>"
                             "<NextContinuationToken>t+/=</NextContinuationToken>"),
            "runs/");
    REQUIRE(read);
    REQUIRE(read->files.size() == 2);
    CHECK(read->files[0].name == "a.pt");
    CHECK(read->files[0].version == objects::ObjectVersion{12, "ab", 1'796'045'540'000'000'000});
    CHECK(read->files[1].name == "b & c.pt");
    CHECK(read->folders == std::vector<std::string>{"tag"});
    CHECK(read->next == "t+/=");
    CHECK(read->isThere);
    const auto nothing = parseListing(page(""), "runs/");
    REQUIRE(nothing);
    CHECK_FALSE(nothing->isThere);
    CHECK(nothing->next.empty());
}

TEST_CASE("encoded names of a listing")
{
    const auto read = parseListing(
        page("<EncodingType>url</EncodingType>" + object("runs/a+b%2Bc%20%C3%A9.pt") + folder("runs/x%2E/")),
        "runs/");
    REQUIRE(read);
    CHECK(read->files[0].name == "a b+c é.pt");
    CHECK(read->folders[0] == "x.");
    CHECK(parseListing(page(object("runs/a%20b")), "runs/")->files[0].name
        == "a%20b"); // they are not said to be
}

TEST_CASE("names that no path has are left out: the folder's own object, and dots")
{
    const auto read = parseListing(page(object("runs/") + object("runs/..") + object("runs/.")
                                       + folder("runs/../") + folder("runs//") + object("runs/a")),
        "runs/");
    REQUIRE(read);
    REQUIRE(read->files.size() == 1);
    CHECK(read->files[0].name == "a");
    CHECK(read->folders.empty());
    CHECK(read->isThere);
}

TEST_CASE("a listing of a hostile server is refused")
{
    checkHostile("");
    checkHostile("<html>no</html>");
    checkHostile(page(object("runs/a")).substr(0, 150));
    checkHostile(page(object("other/a")));
    checkHostile(page(object("runs/a/b")));
    checkHostile(page("<EncodingType>url</EncodingType>" + object("runs/%2e%2e%2fetc")));
    checkHostile(page("<EncodingType>url</EncodingType>" + object("runs/a%00b")));
    checkHostile(page("<EncodingType>url</EncodingType>" + object("runs/a%4")));
    checkHostile(page("<EncodingType>url</EncodingType>" + object("runs/a%zz")));
    checkHostile(page(folder("runs/a")));
    checkHostile(page(folder("/")));
    checkHostile(page(object("runs/" + std::string(1025, 'a'))));
    checkHostile(page(folder("runs/" + std::string(1025, 'a') + "/")));
    CHECK(parseListing(page(object("runs/" + std::string(1024, 'a'))), "runs/"));
    for (const char* size : {"", "-1", "1e3", "12x", "18446744073709551616", "9223372036854775808"})
        checkHostile(page(object("runs/a", size)));
    checkHostile(page(object("runs/a", "1", "")));
    checkHostile(page(object("runs/a", "1", "a&#13;&#10;x-header: 1")));
    checkHostile(page(object("runs/a", "1", std::string(300, 'a'))));
    checkHostile(page(object("runs/a", "1", "x", "yesterday")));
    checkHostile(page("<IsTruncated>true</IsTruncated>"));
}

TEST_CASE("XML that would grow, or is nested deeply, is no danger")
{
    const std::string bomb
        = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>" + page(object("runs/&b;"));
    const auto read = parseListing(bomb, "runs/");
    CHECK((!read || read->files[0].name == "&b;"));
    std::string deep;
    for (int i = 0; i < 500'000; ++i)
        deep += "<a>";
    CHECK_FALSE(parseListing(deep, ""));
    CHECK_FALSE(parseListing(page(deep), ""));
}

TEST_CASE("what a store says of an error")
{
    const auto read = objects::parseStoreError(
        "<?xml version=\"1.0\"?><Error><Code>AuthorizationHeaderMalformed</Code><Message><![CDATA[the region "
        "is wrong]]></Message><Region>eu-central-1</Region></Error>");
    CHECK(read.code == "AuthorizationHeaderMalformed");
    CHECK(read.region == "eu-central-1");
    CHECK(objects::parseStoreError("<Error><Code>a\x1b[31m</Code></Error>").code.empty());
    CHECK(objects::parseStoreError("gateway timeout").code.empty());
    CHECK(
        objects::parseStoreError("<Error><Code>" + std::string(9000, 'x') + "</Code></Error>").code.empty());
}

TEST_CASE("tags, times and sizes")
{
    CHECK(objects::parseTag("\"ab\"") == "ab");
    CHECK(objects::parseTag("ab") == "ab"); // as rclone lists them
    for (const char* none : {"", "\"\"", "a b", "a\"b", "a\nb"})
        CHECK_FALSE(objects::parseTag(none));
    CHECK(objects::parseTime("2026-11-30T13:32:20Z") == objects::parseTime("Mon, 30 Nov 2026 13:32:20 GMT"));
    CHECK_FALSE(objects::parseTime("1960-01-01T00:00:00Z"));
    CHECK_FALSE(objects::parseTime("9999-01-01T00:00:00Z"));
    CHECK(objects::parseSize("9223372036854775807") == uint64_t{std::numeric_limits<int64_t>::max()});
    CHECK_FALSE(objects::parseSize("+1"));
}

} // namespace shardscope
