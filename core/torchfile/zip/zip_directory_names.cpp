// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory_names.h"

#include "core/base/text.h"

#include <algorithm>

namespace shardscope::zip {
namespace {

char lowered(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

uint64_t caselessHash(std::string_view name)
{
    uint64_t hash = 14695981039346656037ull; // FNV-1a
    for (const char c : name)
        hash = (hash ^ static_cast<uint8_t>(lowered(c))) * 1099511628211ull;
    return hash;
}

bool caselessEqual(std::string_view a, std::string_view b)
{
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lowered(x) == lowered(y); });
}

/// Hashes sorted, so that only equal neighbours are compared: no second copy of a million names.
Status checkUnique(const std::vector<Entry>& entries)
{
    std::vector<std::pair<uint64_t, uint32_t>> hashes;
    hashes.reserve(entries.size());
    for (uint32_t i = 0; i < entries.size(); ++i)
        hashes.emplace_back(caselessHash(entries[i].record.name), i);
    std::sort(hashes.begin(), hashes.end());
    for (size_t first = 0; first < hashes.size();) {
        size_t last = first + 1;
        while (last < hashes.size() && hashes[last].first == hashes[first].first)
            ++last;
        // Names made to collide would make this quadratic; a handful is beyond chance already.
        if (last - first > 16)
            return fail(ErrorCode::Hostile, "the archive's record names are crafted to collide");
        for (size_t a = first; a < last; ++a) {
            for (size_t b = a + 1; b < last; ++b) {
                const std::string& x = entries[hashes[a].second].record.name;
                const std::string& y = entries[hashes[b].second].record.name;
                if (caselessEqual(x, y))
                    return fail(ErrorCode::Hostile,
                        x == y ? "two records are called '" + x + "'"
                               : "records '" + x + "' and '" + y
                                + "' differ only in case, which torch does not distinguish");
            }
        }
        first = last;
    }
    return {};
}

} // namespace

Status checkName(std::string_view name)
{
    const auto hostile = [&](std::string_view why) {
        return fail(
            ErrorCode::Hostile, "a record's name " + std::string(why) + ": '" + percentEncode(name) + "'");
    };
    if (!isValidUtf8(name))
        return fail(ErrorCode::Hostile, "a record's name is not UTF-8: hex " + toHex(name));
    for (const char c : name) {
        if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F)
            return hostile("has control characters");
        if (c == '\\')
            return hostile("has backslashes");
    }
    if (name.size() >= 2 && name[1] == ':')
        return hostile("begins with a drive letter");
    for (size_t begin = 0; begin <= name.size();) {
        const size_t end = std::min(name.find('/', begin), name.size());
        const std::string_view part = name.substr(begin, end - begin);
        const bool folderEnd = end == name.size() && begin > 0; // "a/b/" names a folder
        if (part.empty() && !folderEnd)
            return hostile("has empty parts");
        if (part == "." || part == "..")
            return hostile("points outside its archive");
        begin = end + 1;
    }
    return {};
}

Status checkNames(const std::vector<Entry>& entries)
{
    for (const Entry& entry : entries)
        SHARDSCOPE_CHECK(checkName(entry.record.name));
    return {};
}

Result<std::string> stripPrefix(std::vector<Entry>& entries)
{
    std::string prefix;
    for (Entry& entry : entries) {
        std::string& name = entry.record.name;
        const size_t slash = name.find('/');
        if (slash == std::string::npos)
            return fail(ErrorCode::Hostile,
                "record '" + name + "' is not in a folder; torch writes every record into one", {},
                "it may be an ordinary zip file");
        if (prefix.empty())
            prefix = name.substr(0, slash);
        else if (name.compare(0, slash, prefix) != 0)
            return fail(ErrorCode::Hostile,
                "records are in two folders, '" + prefix + "' and '" + name.substr(0, slash) + "'");
        name.erase(0, slash + 1);
    }
    SHARDSCOPE_CHECK(checkUnique(entries));
    return prefix;
}

} // namespace shardscope::zip
