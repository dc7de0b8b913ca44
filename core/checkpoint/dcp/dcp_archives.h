// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/torchfile/formats/dcp_metadata.h"

#include <map>
#include <set>
#include <string>

namespace shardscope {

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
    /// Where the elements of a box are stored. The archive must have this dtype and shape. Returns an absent
    /// run, with a finding, if the elements are not there. The only error is Cancelled.
    Result<StoredRun> runOf(const DcpEntry& entry, const DcpChunk& chunk);
    /// The bytes of a storage that an archive names. Errors as open(); LimitExceeded above `maxBytes`.
    Result<std::string> storageBytes(
        const DcpPlace& place, const TorchFile& archive, std::string_view key, uint64_t maxBytes);
    /// The one element of a run.
    Result<double> element(const StoredRun& run, DType dtype);

    [[nodiscard]] FileId fileOf(const std::string& name) const { return m_ids.at(name); }
    /// Whether something that the metadata name is missing or unusable.
    [[nodiscard]] bool anyLost() const { return !m_reported.empty(); }
    void report(const Error& error, const std::string& file);

private:
    struct Found { ///< an archive that several entries name
        DType dtype = DType::Unknown;
        Shape shape;
        StoredRun run;
    };
    void addPlace(const DcpPlace& place);
    void checkPlaces();
    Result<StoredRun> readRun(const DcpEntry& entry, const DcpChunk& chunk);

    io::FileSystem& m_files;
    io::Path m_folder;
    JobContext& m_job;
    Checkpoint& m_out;
    std::map<std::string, FileId> m_ids;
    std::set<std::string> m_reported;
    std::set<FileId> m_overlapping; ///< files with overlapping parts: never opened
    std::set<std::pair<FileId, uint64_t>> m_shared; ///< offsets of archives that several entries name
    std::map<std::pair<FileId, uint64_t>, Found> m_found; ///< the results for m_shared
};

} // namespace shardscope
