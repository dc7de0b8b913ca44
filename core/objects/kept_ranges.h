// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/objects/object_store.h"

#include <list>
#include <mutex>

namespace shardscope::objects {

/// Short ranges of objects that were read, to be read again without a request: up to 64 MiB of them, and then
/// those of objects that were used last. Thread-safe.
class KeptRanges
{
public:
    static constexpr uint64_t kLongest = uint64_t{128} << 10; ///< that is kept
    static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

    /// Fills `range.out` if all of it is kept.
    bool take(const ObjectRange& range);
    /// What was read; nothing that is longer.
    void keep(const ObjectRange& range);

private:
    struct Piece {
        uint64_t offset = 0;
        std::vector<uint8_t> bytes;
    };
    struct Object {
        std::string name; ///< with its version
        std::list<Piece> pieces;
        uint64_t bytes = 0;
    };

    std::mutex m_mutex;
    std::list<Object> m_objects; ///< used last first
    std::map<std::string, std::list<Object>::iterator> m_byName;
    uint64_t m_bytes = 0;
};

} // namespace shardscope::objects
