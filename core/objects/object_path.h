// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/io/file_system.h"

#include <string>
#include <string_view>

namespace shardscope::objects {

/// A place in an object store, spelled `s3://BUCKET/KEY`. Such a path is a path of ObjectFiles like any
/// other: its parents and children are in the store, too.
struct ObjectPath {
    std::string bucket;
    std::string key; ///< without slashes at its ends; empty for the bucket itself
};

/// Whether it begins with `s3://`.
bool isObject(const io::Path& path);
/// Whether it is `s3://`: the store itself, whose folders are its buckets.
bool isStore(const io::Path& path);
/// Usage where no bucket is named, its name is none (letters, digits, '.', '-', '_'), or a part of the key is
/// empty, "." or "..", which paths cannot have.
Result<ObjectPath> objectPathOf(const io::Path& path);
/// The inverse.
io::Path objectPath(std::string_view bucket, std::string_view key);

} // namespace shardscope::objects
