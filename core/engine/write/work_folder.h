// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/journal.h"
#include "core/engine/stream/output_file.h"
#include "core/io/file_system.h"
#include "core/plan/model/write_plan.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace shardscope {

/// The folder DST/.TAG.partial-ID in which a job works: its lock, its plan, its journal, and the output so
/// far. For an export into a folder that exists, DST is that folder: it may be a mount point.
///
///   lock      held while the job runs; the kernel frees it when the process dies
///   plan      what is being done, so that another program version does not continue it
///   journal   see journal.h
///   files/    the target-to-be: finished files under their final names, unfinished ones as NAME.tmp
///   beside/   files for DST itself
///   pointer   the pointer file before it is renamed
///   publishing  the files are being moved into a folder that was there before (export_publish.h)
///   replaced  the manifest that was in that folder
class WorkFolder
{
public:
    /// Where the plan's work folder lies, whether or not it exists.
    static io::Path pathFor(const WritePlan& plan, const io::Path& destination);

    /// Makes the folder where it is absent, locks it and reads the journal; Busy when another process holds
    /// it.
    static Result<std::unique_ptr<WorkFolder>> open(
        io::FileSystem& files, const WritePlan& plan, const io::Path& destination);

    [[nodiscard]] const io::Path& path() const { return m_path; }
    [[nodiscard]] io::Path filesFolder() const { return m_path / "files"; }
    [[nodiscard]] io::Path besideFolder() const { return m_path / "beside"; }
    /// Where a planned file is made: below files/, or below beside/ for "../NAME".
    [[nodiscard]] io::Path placeOf(const std::string& path) const;
    [[nodiscard]] io::Path pointerFile() const { return m_path / "pointer"; }
    [[nodiscard]] io::Path publishingMark() const { return m_path / "publishing"; }
    [[nodiscard]] io::Path replacedManifest() const { return m_path / "replaced"; }
    [[nodiscard]] const Journal& journal() const { return m_journal; }
    /// Nothing in it is worth anything: it was just made, or its removal was interrupted.
    [[nodiscard]] bool isBlank() const { return m_planText.empty(); }

    /// Whether the plan in it is the one that it was opened for, of this version of the program.
    [[nodiscard]] bool holdsThisPlan() const { return !m_planText.empty() && m_planText == planText(); }

    /// Readies the folder for work: removes what is unfinished or unknown, makes the folders, writes the plan
    /// where it is absent, rewrites the journal with `finished` alone. Refused when the folder belongs to
    /// another program version.
    Status prepare(const std::vector<JournalFile>& finished);
    /// Empties it, for a new start. Only the manifest of replaced files stays.
    Status clear();
    /// Enters a finished file into the journal; on disk when it returns. Thread-safe.
    Status recordFinished(const WrittenFile& file);
    /// Brings all folders to the disk and enters the seal.
    Status seal(JournalSeal seal);
    /// Enters, on disk, that finished files leave the folder from now on.
    Status markPublishing();
    /// Removes the folder, the lock last. Nothing may be done with it afterwards.
    Status remove();

private:
    WorkFolder(io::FileSystem& files, const WritePlan& plan, io::Path path);

    Status removeUnknown(const std::vector<JournalFile>& finished);
    Status writeDurably(const io::Path& path, const std::string& text);
    [[nodiscard]] std::vector<io::Path> outputFolders() const;
    [[nodiscard]] std::string planText() const;

    io::FileSystem& m_files;
    const WritePlan& m_plan;
    io::Path m_path;
    std::unique_ptr<io::FileLock> m_lock;
    std::string m_planText; ///< as found
    Journal m_journal;
    std::mutex m_mutex;
};

} // namespace shardscope
