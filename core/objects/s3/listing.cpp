// SPDX-License-Identifier: Apache-2.0
#include "core/objects/s3/listing.h"

#include <pugixml.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>
#include <limits>

namespace shardscope::objects {

namespace {

constexpr size_t kLongestTag = 256;
constexpr size_t kLongestName = 1024; ///< S3's limit for a whole key

tl::unexpected<Error> broken(const char* what)
{
    return fail(ErrorCode::Hostile, std::string("the listing of the object store is damaged: ") + what);
}

/// `encoding-type=url`, where a '+' is a space.
std::optional<std::string> decoded(std::string_view text)
{
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i] == '+' ? ' ' : text[i];
            continue;
        }
        uint8_t byte = 0;
        if (text.size() - i < 3)
            return std::nullopt;
        const char* const end = text.data() + i + 3;
        const auto parsed = std::from_chars(text.data() + i + 1, end, byte, 16);
        if (parsed.ec != std::errc() || parsed.ptr != end)
            return std::nullopt;
        out += static_cast<char>(byte);
        i += 2;
    }
    return out;
}

/// Whether a path can have a part of this name.
bool isName(std::string_view name)
{
    return !name.empty() && name != "." && name != "..";
}

/// Reads the elements of one page.
class PageReader
{
public:
    PageReader(const pugi::xml_node& root, std::string_view prefix)
        : m_root(root)
        , m_prefix(prefix)
        , m_isEncoded(std::strcmp(root.child_value("EncodingType"), "url") == 0)
    {
    }

    Result<ListingPage> read()
    {
        for (const pugi::xml_node& node : m_root.children("Contents")) {
            SHARDSCOPE_CHECK(addFile(node));
        }
        for (const pugi::xml_node& node : m_root.children("CommonPrefixes")) {
            SHARDSCOPE_TRY(std::string name, nameOf(node.child_value("Prefix")));
            if (!name.ends_with('/'))
                return broken("a folder does not end with a slash");
            name.pop_back();
            SHARDSCOPE_CHECK(checkName(name));
            m_out.isThere = true;
            if (isName(name))
                m_out.folders.push_back(std::move(name));
        }
        if (std::strcmp(m_root.child_value("IsTruncated"), "true") == 0) {
            m_out.next = m_root.child_value("NextContinuationToken");
            if (m_out.next.empty())
                return broken("it has a further page, and does not say which");
        }
        return std::move(m_out);
    }

private:
    Status addFile(const pugi::xml_node& node)
    {
        SHARDSCOPE_TRY(std::string name, nameOf(node.child_value("Key")));
        m_out.isThere = true;
        if (!isName(name)) // of the folder itself, as consoles make them
            return {};
        SHARDSCOPE_CHECK(checkName(name));
        const auto bytes = parseSize(node.child_value("Size"));
        const auto modified = parseTime(node.child_value("LastModified"));
        const auto tag = parseTag(node.child_value("ETag"));
        if (!bytes || !modified || !tag)
            return broken("an object has no size, time or ETag");
        m_out.files.push_back({std::move(name), {*bytes, *tag, *modified}});
        return {};
    }

    /// Without the prefix.
    Result<std::string> nameOf(const char* key) const
    {
        const auto text = m_isEncoded ? decoded(key) : std::optional<std::string>(key);
        if (!text || !text->starts_with(m_prefix))
            return broken("a key is not below the folder that was asked for");
        return text->substr(m_prefix.size());
    }

    static Status checkName(const std::string& name)
    {
        if (name.find('/') != std::string::npos || name.find('\0') != std::string::npos)
            return broken("a name has a slash or a NUL");
        if (name.size() > kLongestName)
            return broken("a name is longer than any key");
        return {};
    }

    const pugi::xml_node& m_root;
    std::string_view m_prefix;
    bool m_isEncoded;
    ListingPage m_out;
};

/// No document types, so that nothing is expanded.
constexpr unsigned kParsing = pugi::parse_escapes | pugi::parse_cdata | pugi::parse_eol;

} // namespace

std::optional<std::string> parseTag(std::string_view text)
{
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
    const bool isVisible = std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f && c != '"'; });
    return !text.empty() && text.size() <= kLongestTag && isVisible ? std::optional<std::string>(text)
                                                                    : std::nullopt;
}

std::optional<int64_t> parseTime(const std::string& text)
{
    for (const char* form : {"%Y-%m-%dT%H:%M:%S", "%a, %d %b %Y %H:%M:%S"}) {
        std::tm parts{};
        if (::strptime(text.c_str(), form, &parts) == nullptr)
            continue;
        const std::time_t seconds = ::timegm(&parts);
        constexpr int64_t kSecond = 1'000'000'000;
        if (seconds < 0 || seconds > std::numeric_limits<int64_t>::max() / kSecond)
            return std::nullopt;
        return int64_t{seconds} * kSecond;
    }
    return std::nullopt;
}

std::optional<uint64_t> parseSize(std::string_view text)
{
    uint64_t out = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
    const bool isWhole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    return isWhole && out <= uint64_t{std::numeric_limits<int64_t>::max()} ? std::optional(out)
                                                                           : std::nullopt;
}

Result<ListingPage> parseListing(std::string_view xml, std::string_view prefix)
{
    pugi::xml_document document;
    if (!document.load_buffer(xml.data(), xml.size(), kParsing, pugi::encoding_utf8))
        return broken("it is no XML");
    const pugi::xml_node root = document.child("ListBucketResult");
    if (!root)
        return broken("it is no ListBucketResult");
    return PageReader(root, prefix).read();
}

Result<std::vector<std::string>> parseBuckets(std::string_view xml)
{
    pugi::xml_document document;
    if (!document.load_buffer(xml.data(), xml.size(), kParsing, pugi::encoding_utf8))
        return broken("it is no XML");
    const pugi::xml_node root = document.child("ListAllMyBucketsResult");
    if (!root)
        return broken("it is no ListAllMyBucketsResult");
    std::vector<std::string> out;
    for (const pugi::xml_node& node : root.child("Buckets").children("Bucket")) {
        const std::string name = node.child_value("Name");
        const auto place = objectPathOf(objectPath(name, {}));
        if (place && place->bucket == name)
            out.push_back(name);
    }
    std::ranges::sort(out);
    const auto [first, last] = std::ranges::unique(out);
    out.erase(first, last);
    return out;
}

StoreError parseStoreError(std::string_view xml)
{
    pugi::xml_document document;
    if (!document.load_buffer(xml.data(), xml.size(), kParsing, pugi::encoding_utf8))
        return {};
    const pugi::xml_node root = document.child("Error");
    StoreError out{root.child_value("Code"), root.child_value("Region")};
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-";
    for (std::string* word : {&out.code, &out.region}) {
        if (word->find_first_not_of(kLetters) != std::string::npos || word->size() > 64)
            word->clear();
    }
    return out;
}

} // namespace shardscope::objects
