// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/io/file_system.h"
#include "core/torchfile/pickle/pickle_graph.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "core/torchfile/zip/zip_directory.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace shardscope {

/// The content of a file's pickle, and its findings.
struct FilePickle {
    std::shared_ptr<const PickleGraph> graph;
    std::vector<Finding> findings;
    /// The storages that it names, each once, in the order in which an unpickler reads them; views of
    /// `graph`.
    std::shared_ptr<const std::vector<StorageView>> storages = {};
};

/// Pickles of files that are opened one after another. Ranks above 0 of a ZeRO-3 checkpoint save the same
/// stream, byte for byte, with an entry for every parameter: parsed and kept once, its memory is proportional
/// to parameters, not to parameters × ranks. Remembers the last few; streams are compared whole. Thread-safe.
class SharedPickles
{
public:
    /// What to keep of a parsed pickle: for readers of many files that need little of each.
    using Reduce = PickleGraph (*)(PickleGraph);

    /// The earlier result for such a stream, kept in the same way; `graph` is null for a new stream.
    [[nodiscard]] FilePickle find(const std::string& stream, Reduce reduce) const;
    /// The same for the stream that a record of `file` holds, compared while it is read. Null, too, where it
    /// cannot be read, or its checksum is wrong.
    [[nodiscard]] FilePickle find(const io::ReadFile& file, const ZipRecord& record, Reduce reduce) const;
    /// Remembers one; gives back the earlier of two that threads parsed at once.
    FilePickle add(std::shared_ptr<const std::string> stream, Reduce reduce, FilePickle pickle);

private:
    static constexpr size_t kRemembered = 4; ///< rank 0's and the others', of model and optimizer files

    struct Entry {
        std::shared_ptr<const std::string> stream;
        Reduce reduce = nullptr;
        FilePickle pickle;
        uint32_t crc32 = 0; ///< of `stream`
    };
    [[nodiscard]] const Entry* entryOf(const std::string& stream, Reduce reduce) const;

    mutable std::mutex m_mutex;
    std::vector<Entry> m_entries; ///< oldest first
};

} // namespace shardscope
