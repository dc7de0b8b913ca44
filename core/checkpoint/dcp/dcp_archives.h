// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/torchfile/formats/dcp_metadata.h"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace shardscope {

/// Where the elements of a chunk are: one run, or several if the chunk is not stored row by row.
struct DcpStored {
    std::vector<Box> boxes; ///< in the parameter
    std::vector<StoredRun> runs; ///< one per box

    [[nodiscard]] bool isPlain() const { return runs.size() == 1; }
};

/// The archives that hold the entries of a distributed checkpoint, and their files.
///
/// Every archive is a part of a file, and parts do not overlap. So opening all archives costs no more than
/// reading the files once. A file with overlapping parts is reported and not read, whatever the metadata say.
/// One thread at a time.
class DcpArchives
{
public:
    /// Fills the files and archives of `out` from the entries.
    DcpArchives(io::FileSystem& files, io::Path folder, const std::vector<DcpEntry>& entries, JobContext& job,
        Checkpoint& out);

    /// The archive at a place. Errors become findings, one per file. Cancelled when stopped.
    Result<std::shared_ptr<const TorchFile>> open(const DcpPlace& place);
    /// Where the elements of a chunk are stored. The archive must have its dtype and shape; strides may be
    /// those of another order of dimensions (a transposed tensor, channels_last). Returns an absent run, with
    /// a finding or refused(), if the elements are not there. The only error is Cancelled.
    Result<DcpStored> storedOf(const DcpEntry& entry, const DcpChunk& chunk);
    /// The bytes of a storage that an archive names. Errors as open(); LimitExceeded above `maxBytes`.
    Result<std::string> storageBytes(
        const DcpPlace& place, const TorchFile& archive, std::string_view key, uint64_t maxBytes);
    /// The one element of a run.
    Result<double> element(const StoredRun& run, DType dtype);

    [[nodiscard]] FileId fileOf(const std::string& name) const { return m_ids.at(name); }
    /// Whether something that the metadata name is missing or unusable.
    [[nodiscard]] bool anyLost() const { return !m_reported.empty(); }
    /// A damaged or missing part of a file becomes a finding. Unsupported becomes refused().
    void report(const Error& error, const std::string& file);
    /// Why this build cannot read all of it: Unsupported, the first reason.
    [[nodiscard]] const std::optional<Error>& refused() const { return m_refused; }

private:
    struct Found { ///< an archive that several entries name
        DType dtype = DType::Unknown;
        Shape shape;
        DcpStored stored; ///< boxes are in the chunk
    };
    void addPlace(const DcpPlace& place);
    void checkPlaces();
    Result<DcpStored> readStored(const DcpEntry& entry, const DcpChunk& chunk);

    io::FileSystem& m_files;
    io::Path m_folder;
    JobContext& m_job;
    Checkpoint& m_out;
    std::map<std::string, FileId> m_ids;
    std::set<std::string> m_reported;
    std::optional<Error> m_refused;
    std::set<FileId> m_overlapping; ///< files with overlapping parts: never opened
    std::set<std::pair<FileId, uint64_t>> m_shared; ///< offsets of archives that several entries name
    std::map<std::pair<FileId, uint64_t>, Found> m_found; ///< the results for m_shared
};

} // namespace shardscope
