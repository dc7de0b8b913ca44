// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/peer_writers.h"

#include "core/base/parallel.h"
#include "core/base/sha256.h"
#include "core/base/wire.h"
#include "core/engine/parts/file_runs.h"
#include "core/engine/parts/journal_follower.h"
#include "core/engine/write/output_builder.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace shardscope {

namespace {

enum class Order : uint8_t { End, Write, Check };

/// What process 0 asks of another one.
struct Task {
    Order order = Order::End;
    io::Path workFolder = {}; ///< absolute: processes may have other working directories
    std::vector<FilePiece> pieces = {}; ///< to write
    std::string records = {}; ///< lines of a piece journal: pieces of earlier runs, or those to check
    uint64_t othersFrom = 0; ///< where this run begins in the journal of the process before it
    std::vector<FilePiece> others = {}; ///< to read back once they are recorded there
};

template <class Io>
void wire(Io& io, Wired<Task> auto& task)
{
    std::string folder = task.workFolder.native();
    io.word(task.order, Order::Check);
    io(folder, task.pieces, task.records, task.othersFrom, task.others);
    if constexpr (Io::kReads)
        task.workFolder = std::move(folder);
}

/// How a process did its task.
struct Reply {
    Status status;
    std::string lines; ///< of its journal
    bool readDirectly = true;
};

void wire(auto& io, Wired<Reply> auto& reply)
{
    io(reply.status, reply.lines, reply.readDirectly);
}

/// The name of what a process records.
std::string journalOf(uint32_t rank, const Peers& peers)
{
    return "rank-" + std::to_string(rank) + "-of-" + std::to_string(peers.size());
}

/// The process whose pieces this one reads back.
uint32_t before(uint32_t rank, const Peers& peers)
{
    return (rank + peers.size() - 1) % peers.size();
}

/// Reads pieces back, and records at once each that is as it was written.
Status check(PartWriter& writer, std::span<const PieceRecord> pieces, const PartEvents& events)
{
    PartEvents atOnce = events;
    atOnce.checked = [&](const FilePiece& piece) -> Status {
        SHARDSCOPE_CHECK(events.checked(piece));
        return events.left({});
    };
    return writer.check(pieces, atOnce);
}

/// A digest of both ends of a file.
Result<std::string> digestOfEnds(io::FileSystem& files, const io::Path& path)
{
    SHARDSCOPE_TRY(const auto file, files.openRead(path));
    std::vector<uint8_t> bytes(std::min<uint64_t>(file->size(), 4096));
    io::Xxh3 sum;
    for (const uint64_t offset : {uint64_t{0}, file->size() - bytes.size()}) {
        SHARDSCOPE_CHECK(file->readAt(offset, bytes));
        sum.update(bytes);
    }
    const io::Xxh3Digest digest = sum.digest();
    return std::to_string(digest.high) + ' ' + std::to_string(digest.low);
}

/// A digest of what the plan is. Of sources without checksums it has the ends, too: other machines may see
/// other files of the same size and time.
Result<std::string> identityOf(io::FileSystem& files, const WritePlan& plan)
{
    std::string text = WorkFolder::planText(plan);
    for (const PlanSource& source : plan.sources) {
        const bool isChecked = !source.records.empty()
            && std::ranges::all_of(source.records, [](const ZipRecord& record) { return record.crcPresent; });
        if (!isChecked) {
            SHARDSCOPE_TRY(const std::string ends, digestOfEnds(files, source.path));
            text += ends + '\n';
        }
    }
    return sha256Of(text);
}

Status work(io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options,
    const ChooseCompute& chooseCompute, const Task& task, JobContext& job, Reply& reply)
{
    const Peers& peers = *options.peers;
    SHARDSCOPE_TRY(const auto folder, WorkFolder::join(files, plan, task.workFolder, job));
    SHARDSCOPE_TRY(const ComputeChoice compute, chooseCompute(bytesOf(task.pieces)));
    PieceJournal journal;
    parsePieceJournal(task.records, journal);
    const unsigned jobs = options.jobs == 0 ? defaultJobs() : options.jobs;
    const size_t count = task.order == Order::Write ? task.pieces.size() : journal.pieces.size();
    const MemoryPlan memory
        = divideMemory(options.memoryLimitBytes, jobs, std::max<size_t>(count, 1), options.verify);
    StageTimes times;
    const PartResources resources{
        memory, *compute.backend, times, [&](const std::string& path) { return folder->placeOf(path); }, {}};
    PartWriter writer(files, plan, resources, job);
    const PartEvents events
        = journalEvents(files, folder->partJournal(journalOf(peers.rank(), peers)), {}, &reply.lines);
    JournalFollower others(files, folder->partJournal(journalOf(before(peers.rank(), peers), peers)),
        task.othersFrom, task.others);
    const ReadsBack readsBack{.otherBytes = others.bytes(), .others = [&] { return others.take(); }};
    const Status done = task.order == Order::Write
        ? writer.write(task.pieces, journal.pieces, readsBack, events)
        : check(writer, journal.pieces, events);
    reply.readDirectly = writer.readDirectly();
    return done;
}

} // namespace

Status checkSamePlan(io::FileSystem& files, const WritePlan& plan, SharedWork& shared)
{
    SHARDSCOPE_TRY(const auto identities, shared.exchange(identityOf(files, plan)));
    const auto other = std::ranges::find_if(
        identities, [&](const std::string& identity) { return identity != identities.front(); });
    if (other == identities.end())
        return {};
    return fail(ErrorCode::Refused,
        "process " + std::to_string(other - identities.begin()) + " planned another job than process 0", {},
        "all processes must run the same version of the program and see the same source files");
}

Status serveLeader(io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options,
    const ChooseCompute& chooseCompute, JobContext& job)
{
    Peers& peers = *options.peers;
    for (;;) {
        SHARDSCOPE_TRY(const std::string text, peers.scatter({}));
        Reply reply;
        Task task;
        if (!fromWire(text, task))
            reply.status = fail(ErrorCode::Internal, "process 0 sent a task that cannot be read", {},
                "all processes must run the same version of the program");
        else if (task.order == Order::End)
            return job.poll();
        else
            reply.status = work(files, plan, options, chooseCompute, task, job, reply);
        SHARDSCOPE_CHECK(peers.gather(toWire(reply)));
    }
}

Status dismissPeers(Peers& peers)
{
    SHARDSCOPE_CHECK(peers.scatter(std::vector<std::string>(peers.size(), toWire(Task{}))));
    return {};
}

PeerWriters::PeerWriters(io::FileSystem& files, const WritePlan& plan, const WorkFolder& work,
    const PartResources& resources, Peers& peers, JobContext& job)
    : m_files(files)
    , m_plan(plan)
    , m_work(work)
    , m_resources(resources)
    , m_peers(peers)
    , m_job(job)
    , m_written(peers.size())
{
}

Status PeerWriters::write(
    std::span<const FilePiece> ranges, const PieceSizes& sizes, bool readsBack, PieceJournal& journal)
{
    if (ranges.empty())
        return {};
    SHARDSCOPE_TRY(const auto shares, divideRanges(m_plan, ranges, m_peers.size(), sizes));
    std::vector<std::string> tasks(m_peers.size()); // process 0 has the plan itself
    for (uint32_t rank = 0; rank < m_peers.size(); ++rank) {
        SHARDSCOPE_CHECK(m_files.makeDirectories(m_work.partJournal(journalOf(rank)).parent_path()));
        SHARDSCOPE_TRY(m_written[rank], splitRanges(m_plan, shares[rank], sizes));
    }
    for (uint32_t rank = 1; rank < m_peers.size(); ++rank) {
        SHARDSCOPE_TRY(tasks[rank], writeTask(rank, journal.pieces, readsBack));
    }
    const uint32_t other = before(0);
    SHARDSCOPE_TRY(const uint64_t from, journalBytes(other));
    JournalFollower others(m_files, m_work.partJournal(journalOf(other)), from,
        readsBack ? m_written[other] : std::vector<FilePiece>());
    return run(
        std::move(tasks),
        [&](PartWriter& writer, const PartEvents& events) {
            const ReadsBack reads{.otherBytes = others.bytes(), .others = [&] { return others.take(); }};
            return writer.write(m_written[0], journal.pieces, reads, events);
        },
        journal);
}

Status PeerWriters::check(std::span<const PieceRecord> pieces, PieceJournal& journal)
{
    if (pieces.empty())
        return {};
    const uint32_t count = m_peers.size();
    std::vector<std::vector<PieceRecord>> shares(count);
    for (size_t i = 0; i < pieces.size(); ++i) {
        uint32_t reader = static_cast<uint32_t>(i % count);
        for (uint32_t rank = 0; rank < count; ++rank) {
            const auto& written = m_written[before(rank)];
            const auto sameFile
                = std::ranges::equal_range(written, pieces[i].piece.file, {}, &FilePiece::file);
            if (std::ranges::find(sameFile, pieces[i].piece) != sameFile.end())
                reader = rank;
        }
        shares[reader].push_back(pieces[i]);
    }
    std::vector<std::string> tasks(count);
    for (uint32_t rank = 0; rank < count; ++rank) {
        SHARDSCOPE_CHECK(m_files.makeDirectories(m_work.partJournal(journalOf(rank)).parent_path()));
        Task task{.order = Order::Check, .workFolder = workFolder()};
        for (const PieceRecord& record : shares[rank])
            task.records += journalLine(record);
        tasks[rank] = toWire(task);
    }
    return run(
        std::move(tasks),
        [&](PartWriter& writer, const PartEvents& events) {
            return shardscope::check(writer, shares[0], events);
        },
        journal);
}

std::string PeerWriters::journalOf(uint32_t rank) const
{
    return shardscope::journalOf(rank, m_peers);
}

/// While no process writes to it.
Result<uint64_t> PeerWriters::journalBytes(uint32_t rank) const
{
    SHARDSCOPE_TRY(const io::FileIdentity found, identityAt(m_files, m_work.partJournal(journalOf(rank))));
    return found.bytes;
}

io::Path PeerWriters::workFolder() const
{
    return std::filesystem::absolute(m_work.path());
}

uint32_t PeerWriters::before(uint32_t rank) const
{
    return shardscope::before(rank, m_peers);
}

Result<std::string> PeerWriters::writeTask(uint32_t rank, std::span<const PieceRecord> known, bool readsBack)
{
    Task out{.order = Order::Write, .workFolder = workFolder(), .pieces = m_written[rank]};
    if (readsBack) {
        SHARDSCOPE_TRY(out.othersFrom, journalBytes(before(rank)));
        out.others = m_written[before(rank)];
    }
    std::optional<uint32_t> last;
    for (const FilePiece& piece : out.pieces) {
        const bool isFirstOfFile = std::exchange(last, piece.file) != piece.file;
        for (const PieceRecord& record :
            isFirstOfFile ? recordsOf(known, piece.file) : std::span<const PieceRecord>()) {
            PieceRecord checksums; // all that is needed of it
            checksums.piece = record.piece;
            checksums.late = record.late;
            checksums.parts = record.parts;
            out.records += journalLine(checksums);
        }
    }
    return toWire(out);
}

Status PeerWriters::run(std::vector<std::string> tasks,
    const std::function<Status(PartWriter&, const PartEvents&)>& own, PieceJournal& journal)
{
    SHARDSCOPE_CHECK(m_peers.scatter(std::move(tasks)));
    PartWriter writer(m_files, m_plan, m_resources, m_job);
    Reply reply;
    reply.status = own(writer, journalEvents(m_files, m_work.partJournal(journalOf(0)), {}, &reply.lines));
    reply.readDirectly = writer.readDirectly();
    SHARDSCOPE_TRY(const auto answers, m_peers.gather(toWire(reply)));
    Status status;
    for (const std::string& answer : answers) {
        Reply each;
        if (!fromWire(answer, each))
            each.status
                = fail(ErrorCode::Internal, "a process of the job sent an answer that cannot be read");
        parsePieceJournal(each.lines, journal);
        m_readDirectly = m_readDirectly && each.readDirectly;
        // What stopped the others says more than that they were stopped.
        const bool isBetter = status || status.error().code == ErrorCode::Cancelled;
        if (!each.status && isBetter)
            status = each.status;
    }
    return status;
}

} // namespace shardscope
