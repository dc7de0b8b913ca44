// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/part_ranges.h"
#include "core/engine/parts/piece_journal.h"
#include "core/engine/stream/journal.h"
#include "core/engine/stream/output_walk.h"
#include "core/engine/write/lease.h"
#include "core/io/folder_hold.h"
#include "core/plan/model/write_plan.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardscope {

/// The folder DST/.TAG.partial-ID in which a job works: its lock, its plan, its journal, and the output so
/// far. For an export into a folder that exists, DST is that folder: it may be a mount point.
///
/// Others may write to DST and can tell ID: they may put links or folders of their own there. So the folder
/// must be one of this user (io::holdFolder) with nothing but the entries below, and is reached
/// by its handle, without following links. Whatever else has its name is neither entered nor removed.
///
///   lock      held while the job runs; the kernel frees it when the process dies
///   lease/    the same for several machines, see lease.h
///   plan      the plan, so that another program version does not continue it
///   journal   see journal.h
///   files/    the future target: finished files with their final names, unfinished ones as NAME.tmp
///   parts/    what every process has recorded of the pieces that it wrote, see partJournal()
///   beside/   files for DST itself
///   pointer   the pointer file before it is renamed
///   publishing  the files are being moved into an existing folder (export_publish.h)
///   replaced  the manifest that was in that folder
class WorkFolder
{
public:
    /// What the folder records of a plan: the same for the same plan by the same version, on any machine.
    static std::string planText(const WritePlan& plan);
    /// The path of the plan's work folder, which may not exist.
    static io::Path pathFor(const WritePlan& plan, const io::Path& destination);

    /// Creates the folder if it is absent, takes lock and lease, and reads the journal. Busy if another
    /// process has one of them; waits for the lease of another machine to expire.
    static Result<std::unique_ptr<WorkFolder>> open(io::FileSystem& files, const WritePlan& plan,
        const io::Path& destination, const LeaseOptions& lease, JobContext& job);

    /// The same for one part of the output: several processes may each work on another part, while nobody has
    /// the whole folder. Creates what is absent. Refused if the folder belongs to another program version.
    static Result<std::unique_ptr<WorkFolder>> openPart(io::FileSystem& files, const WritePlan& plan,
        const io::Path& destination, Part part, const LeaseOptions& lease, JobContext& job);

    /// The folder in which another process of the same job works, which has taken it: for constant calls
    /// only. Refused, with the difference, if it is of another plan or version of the program.
    static Result<std::unique_ptr<WorkFolder>> join(
        io::FileSystem& files, const WritePlan& plan, io::Path workFolder, JobContext& job);

    /// The folder as it is, with its journal, without taking it: for constant calls only. Null if it is
    /// absent. NoPermission as open().
    static Result<std::unique_ptr<WorkFolder>> look(
        io::FileSystem& files, const WritePlan& plan, const io::Path& destination);

    /// Removes what is left of a folder whose removal was interrupted.
    static Status removeRest(io::FileSystem& files, const WritePlan& plan, const io::Path& destination);

    [[nodiscard]] const io::Path& path() const { return m_path; }
    [[nodiscard]] io::Path filesFolder() const { return m_path / "files"; }
    [[nodiscard]] io::Path runFilesFolder() const { return m_path / "beside"; }
    /// The path of a planned file: below files/, or below beside/ for "../NAME".
    [[nodiscard]] io::Path placeOf(const std::string& path) const { return placeIn(m_path, path); }
    static io::Path placeIn(const io::Path& workFolder, const std::string& path);
    [[nodiscard]] io::Path pointerFile() const { return m_path / "pointer"; }
    [[nodiscard]] io::Path publishingMark() const { return m_path / "publishing"; }
    [[nodiscard]] io::Path replacedManifest() const { return m_path / "replaced"; }
    [[nodiscard]] const Journal& journal() const { return m_journal; }
    /// parts/NAME/journal, see piece_journal.h. The NAME of a part is "INDEX-of-COUNT"; of a job without
    /// parts, "rest".
    [[nodiscard]] io::Path partJournal(const std::string& name) const
    {
        return partsFolder() / name / "journal";
    }
    static std::string nameOf(Part part);
    /// The parts that have recorded something, in the order of their names.
    [[nodiscard]] Result<std::vector<std::string>> parts() const;
    /// What all of them have recorded: disjoint, ascending pieces.
    [[nodiscard]] Result<PieceJournal> partJournals() const;
    /// Whether it has no usable content: it is new, or its removal was interrupted.
    [[nodiscard]] bool isBlank() const { return m_planText.empty(); }

    /// Refused, with the difference, if it is of another plan or version of the program.
    [[nodiscard]] Status checkPlan() const { return checkPlan(planText(m_plan)); }
    /// Whether its plan is the one that it was opened for, from this version of the program.
    [[nodiscard]] bool holdsThisPlan() const { return !m_planText.empty() && m_planText == planText(m_plan); }

    /// Prepares the folder: removes unfinished and unknown files, creates the folders, writes the plan if it
    /// is absent, empties the journal. Of the output, only the files `finished` stay. Refused if the folder
    /// belongs to another program version; NoPermission if something in it is not of this plan or of this
    /// user.
    Status prepare(const std::vector<std::string>& finished);
    /// Prepares it for parts: creates the folders, writes the plan if it is absent. Refused as prepare().
    Status prepareForParts();
    /// Empties it for a restart. Only the manifest of replaced files stays. Busy as checkHeld().
    Status clear();
    /// Busy if another process has taken the folder over. Thread-safe.
    [[nodiscard]] Status checkHeld() const { return m_lease->check(); }
    /// Syncs all folders to the disk and adds the seal. NoPermission if there is anything but finished files
    /// of the plan.
    Status seal(JournalSeal seal);
    /// Records, durably, that finished files leave the folder from now on.
    Status markPublishing();
    /// Removes the folder, the lock last. It must not be used afterwards. Busy as checkHeld().
    Status remove();

private:
    WorkFolder(io::FileSystem& files, const WritePlan& plan, io::Path path);

    [[nodiscard]] io::Path partsFolder() const { return m_path / "parts"; }
    static Result<std::unique_ptr<WorkFolder>> openHeld(io::FileSystem& files, const WritePlan& plan,
        const io::Path& destination, const std::function<Status(WorkFolder&)>& hold);
    Status readJournal();
    Status makeFolder(const io::Path& destination);
    /// Creates the folder if it is absent, and opens it: from here on it, and what is next to it, are reached
    /// by their handles. NoPermission if it is not a work folder of this user.
    Status enter(const io::Path& destination);
    /// Creates the folder if it is absent, and takes lock and lease.
    Status hold(const io::Path& destination, const LeaseOptions& lease, JobContext& job);
    Status holdPart(const io::Path& destination, Part part, const LeaseOptions& lease, JobContext& job);
    [[nodiscard]] Status checkContent() const;
    [[nodiscard]] Status checkPlan(const std::string& wanted) const;
    Status makeOutputFolders();
    Status removeUnknown(const std::vector<std::string>& finished);
    Status writeDurably(const io::Path& path, const std::string& text);

    io::FileSystem& m_files;
    const WritePlan& m_plan;
    io::Path m_path;
    std::unique_ptr<io::FolderHold> m_place; ///< its parent
    std::unique_ptr<io::FolderHold> m_folder;
    std::unique_ptr<io::FileLock> m_lock;
    std::unique_ptr<io::FileLock> m_partLock; ///< of the part, if it was opened for one
    io::Path m_partFolder; ///< and its folder
    std::unique_ptr<Lease> m_lease; ///< given back before the lock
    std::string m_planText; ///< as found
    Journal m_journal;
};

} // namespace shardscope
