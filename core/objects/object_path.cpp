// SPDX-License-Identifier: Apache-2.0
#include "core/objects/object_path.h"

#include <algorithm>

namespace shardscope::objects {

namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::string_view kBucketCharacters
    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
constexpr size_t kLongestKey = 1024; ///< bytes, as S3 has it
constexpr size_t kLongestBucket = 255;

bool isBucket(std::string_view name)
{
    return !name.empty() && name.size() <= kLongestBucket && name.front() != '.' && name.front() != '-'
        && name.find_first_not_of(kBucketCharacters) == std::string_view::npos;
}

bool isKey(std::string_view key)
{
    while (!key.empty()) {
        const std::string_view part = key.substr(0, key.find('/'));
        if (part.empty() || part == "." || part == "..")
            return false;
        key.remove_prefix(std::min(part.size() + 1, key.size()));
    }
    return true;
}

} // namespace

bool isObject(const io::Path& path)
{
    return std::string_view(path.native()).starts_with(kScheme);
}

bool isStore(const io::Path& path)
{
    return path.native() == kScheme;
}

Result<ObjectPath> objectPathOf(const io::Path& path)
{
    if (!isObject(path))
        return fail(ErrorCode::Usage, "this is no path of an object store", path.string());
    std::string_view rest = std::string_view(path.native()).substr(kScheme.size());
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view bucket = rest.substr(0, slash);
    if (!isBucket(bucket))
        return fail(ErrorCode::Usage, bucket.empty() ? "no bucket is named" : "this is no name of a bucket",
            path.string(), "write it as `s3://BUCKET/KEY`");
    rest.remove_prefix(slash);
    while (rest.starts_with('/'))
        rest.remove_prefix(1);
    while (rest.ends_with('/'))
        rest.remove_suffix(1);
    if (!isKey(rest) || rest.size() > kLongestKey)
        return fail(ErrorCode::Usage,
            "a path in an object store has no part that is empty, `.` or `..`, and at most 1,024 bytes",
            path.string());
    return ObjectPath{std::string(bucket), std::string(rest)};
}

io::Path objectPath(std::string_view bucket, std::string_view key)
{
    std::string out(kScheme);
    out += bucket;
    if (!key.empty()) {
        out += '/';
        out += key;
    }
    return out;
}

} // namespace shardscope::objects
