// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/objects/object_store.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::objects {

/// One page of ListObjectsV2 below a prefix, with names without it.
struct ListingPage {
    struct File {
        std::string name;
        ObjectVersion version;
    };
    std::vector<File> files;
    std::vector<std::string> folders; ///< common prefixes, without the slash
    std::string next; ///< the token of the next page; empty: this is the last
    bool isThere = false; ///< it has a key, if only that of the folder itself
};

/// Names that a path cannot have (empty, "." and "..") are left out. Hostile where it is no listing, a size
/// or a time is none, a name has a slash, a NUL or over 1,024 bytes, or a key does not begin with the prefix.
Result<ListingPage> parseListing(std::string_view xml, std::string_view prefix);

/// The names of the answer of ListBuckets, in byte order. Those that no path can have are left out. Hostile
/// where it is no such answer.
Result<std::vector<std::string>> parseBuckets(std::string_view xml);

/// The error document of an answer; empty fields where it is none.
struct StoreError {
    std::string code; ///< "NoSuchKey"; letters only
    std::string region; ///< of the bucket, if another one was asked
};
StoreError parseStoreError(std::string_view xml);

/// "2026-11-30T13:32:20.000Z", and "Mon, 30 Nov 2026 13:32:20 GMT"; nothing where it is none.
std::optional<int64_t> parseTime(const std::string& text);
/// A size in bytes, up to INT64_MAX; nothing where it is none.
std::optional<uint64_t> parseSize(std::string_view text);
/// An ETag without its quotes; nothing where it could not be sent back.
std::optional<std::string> parseTag(std::string_view text);

} // namespace shardscope::objects
