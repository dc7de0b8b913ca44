// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace shardscope::io {

/// Short ranges of files elsewhere that were read, to be read again without a question: up to 64 MiB of them,
/// and then those of the files that were used last. A file is named with its version, so that what is kept of
/// one is never taken for another. Thread-safe.
class KeptRanges
{
public:
    /// That is kept. Scans of values read more at a time: they would drive out what is read again.
    static constexpr uint64_t kLongest = (uint64_t{1} << 20) - 1;
    static constexpr uint64_t kMostBytes = uint64_t{64}
        << 20; ///< with what each range and file takes besides
    static constexpr uint64_t kRangeCost = 128; ///< what one takes besides its bytes, about

    /// Fills `out` if all of it is kept; else it is as it was, or partly filled.
    bool take(const std::string& version, uint64_t offset, std::span<uint8_t> out);
    /// What was read without an error; nothing above kLongest.
    void keep(const std::string& version, uint64_t offset, std::span<const uint8_t> bytes);
    void forget(const std::string& version);

private:
    struct File {
        std::string version;
        std::map<uint64_t, std::vector<uint8_t>> ranges; ///< by offset; they do not overlap
        uint64_t bytes = 0; ///< with what it takes besides
    };
    using Place = std::list<File>::iterator;
    void add(File& file, uint64_t offset, std::span<const uint8_t> bytes);
    void drop(Place file);

    std::mutex m_mutex;
    std::list<File> m_files; ///< used last first
    std::map<std::string, Place> m_byVersion;
    uint64_t m_bytes = 0;
};

} // namespace shardscope::io
