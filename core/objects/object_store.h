// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/io/file_system.h"
#include "core/objects/object_path.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::objects {

/// An object, as a listing or the headers of an answer describe it.
struct ObjectVersion {
    uint64_t bytes = 0;
    std::string tag; ///< its ETag without quotes, which not every listing has: visible ASCII
    int64_t modifiedNs = 0; ///< since the epoch, whole seconds, as headers have no more

    bool operator==(const ObjectVersion&) const = default;
};

/// What is at a path.
struct FoundObject {
    ObjectPath place;
    std::optional<ObjectVersion> version; ///< none: a folder
};

/// A range of an object, which must be the version that is named.
struct ObjectRange {
    ObjectPath place;
    ObjectVersion version;
    uint64_t offset = 0; ///< within the object, with all of `out`
    std::span<uint8_t> out;
};

/// What is directly below a folder of keys.
struct ObjectFolder {
    std::map<std::string, ObjectVersion> files;
    std::vector<std::string> folders; ///< in byte order, without those that are a file, too
};

/// What went over the wire, for the log.
struct StoreTraffic {
    uint64_t requests = 0;
    uint64_t bytesReceived = 0; ///< of bodies
};

/// The questions to one object store. Thread-safe. Errors name the path: NotFound; Unreadable where it
/// refuses access (a hint says what is missing) or cannot be reached, the latter as an outage; SourceChanged
/// where an object is no longer the version that was named; Hostile where an answer is none; Cancelled.
class ObjectStore
{
public:
    virtual ~ObjectStore() = default;
    /// One page after the other, up to a million names. A bucket may be empty; NotFound for other folders.
    /// The folders of a place without a bucket are the buckets of the account.
    virtual Result<ObjectFolder> list(const ObjectPath& folder) = 0;
    /// An object; else a folder, if there is anything below it or it is a bucket; else NotFound.
    virtual std::vector<Result<FoundObject>> look(std::span<const ObjectPath> places) = 0;
    /// Ranges of one object that are near each other are read by one request, and long ones by several.
    virtual std::vector<Status> read(std::span<const ObjectRange> ranges) = 0;
    [[nodiscard]] virtual StoreTraffic traffic() const = 0;
};

/// The value of an environment variable; empty where it is not set.
using Environment = std::function<std::string(std::string_view name)>;

/// The store that the environment and the files of the AWS tools name. `stop` ends every wait for it, and the
/// stop of a job (current_stop.h) the waits of its threads. Keys that are refused are read again from
/// `files`, which must live longer. Errors are those of storeSettings(); Unsupported where this program was
/// built without libcurl, is static, or the system has no libcurl.
Result<std::shared_ptr<ObjectStore>> openObjectStore(
    io::FileSystem& files, const Environment& environment, std::stop_token stop);

} // namespace shardscope::objects
