// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/peer_writers.h"

#include "core/base/parallel.h"
#include "core/base/wire.h"
#include "core/engine/parts/file_runs.h"
#include "core/engine/parts/journal_follower.h"
#include "core/engine/parts/stored_plan.h"
#include "core/engine/write/work_folder.h"

#include <algorithm>

namespace shardscope {

namespace {

enum class Order : uint8_t { End, Write, Check };

/// What process 0 asks of another one.
struct Task {
    Order order = Order::End;
    io::Path workFolder;
    std::string journal; ///< name of its part
    std::string plan; ///< a StoredPlan
    std::vector<FilePiece> pieces; ///< to write; files as in the stored plan
    std::string records; ///< lines of a piece journal: pieces of earlier runs, or those to check
    std::string othersJournal; ///< name of a part that another process writes
    uint64_t othersFrom = 0; ///< where the lines of this run begin there
    std::vector<FilePiece> others; ///< to read back once they are recorded there; files as in the whole plan
};

void writePieces(WireWriter& out, const std::vector<FilePiece>& pieces)
{
    out.number(pieces.size());
    for (const auto& [file, range] : pieces) {
        out.number(file);
        out.number(range.begin);
        out.number(range.end);
    }
}

std::vector<FilePiece> readPieces(WireReader& in)
{
    std::vector<FilePiece> out;
    const uint64_t count = in.count();
    for (uint64_t i = 0; i < count && in.isGood(); ++i) {
        FilePiece& piece = out.emplace_back();
        piece.file = in.number32();
        piece.range.begin = in.number();
        piece.range.end = in.number();
    }
    return out;
}

std::string toText(const Task& task)
{
    WireWriter out;
    out.number(static_cast<uint64_t>(task.order));
    out.text(task.workFolder.native());
    out.text(task.journal);
    out.text(task.plan);
    writePieces(out, task.pieces);
    out.text(task.records);
    out.text(task.othersJournal);
    out.number(task.othersFrom);
    writePieces(out, task.others);
    return out.take();
}

Result<Task> taskFrom(const std::string& text)
{
    WireReader in(text);
    Task out;
    out.order = static_cast<Order>(in.number32());
    out.workFolder = in.text();
    out.journal = in.text();
    out.plan = in.text();
    out.pieces = readPieces(in);
    out.records = in.text();
    out.othersJournal = in.text();
    out.othersFrom = in.number();
    out.others = readPieces(in);
    if (!in.isGood() || out.order > Order::Check)
        return fail(ErrorCode::Internal, "process 0 sent a task that cannot be read", {},
            "all processes must run the same version of the program");
    return out;
}

/// How a process did its task.
struct Reply {
    Status status;
    std::string lines; ///< of its journal
    bool readDirectly = true;
};

std::string toText(const Reply& reply)
{
    WireWriter out;
    writeStatus(out, reply.status);
    out.text(reply.lines);
    out.number(reply.readDirectly ? 1 : 0);
    return out.take();
}

Reply replyFrom(const std::string& text)
{
    WireReader in(text);
    Reply out;
    out.status = readStatus(in);
    out.lines = in.text();
    out.readDirectly = in.number() != 0;
    if (!in.isGood())
        out.status = fail(ErrorCode::Internal, "a process of the job sent an answer that cannot be read");
    return out;
}

/// Records in the journal of a part, and in `lines`; with the numbers of the whole plan, if `plan` is a
/// stored one.
PartEvents eventsOf(
    io::FileSystem& files, const io::Path& journal, std::string& lines, const StoredPlan* plan = nullptr)
{
    const auto append = [&files, journal, &lines](const std::string& line) {
        lines += line;
        return files.appendSynced(journal, line);
    };
    return {[append, plan](const PieceRecord& written) {
                return append(journalLine(plan != nullptr ? plan->toPlan(written) : written));
            },
        [append, plan](const FilePiece& checked) {
            return append(journalLine(plan != nullptr ? plan->toPlan(checked) : checked));
        },
        [append, plan](std::span<const FileRun> runs) {
            std::string text;
            for (FileRun run : runs) {
                if (plan != nullptr)
                    run.file = plan->toPlan(FilePiece{run.file, {}}).file;
                text += journalLine(run);
            }
            return append(text);
        }};
}

Status work(
    io::FileSystem& files, const Task& task, const PeerOptions& options, JobContext& job, Reply& reply)
{
    SHARDSCOPE_TRY(const auto plan, StoredPlan::parse(task.plan));
    SHARDSCOPE_TRY(const auto hold, io::holdFolder(task.workFolder, io::HoldKind::Own));
    SHARDSCOPE_CHECK(plan->checkSources(files));
    PieceJournal journal;
    parsePieceJournal(task.records, journal);
    const unsigned jobs = options.jobs == 0 ? defaultJobs() : options.jobs;
    const size_t count = task.order == Order::Write ? task.pieces.size() : journal.pieces.size();
    const MemoryPlan memory = divideMemory(options.memoryLimitBytes, jobs, std::max<size_t>(count, 1), true);
    SHARDSCOPE_TRY(const ComputeChoice compute, options.chooseCompute(bytesOf(task.pieces)));
    StageTimes times;
    const PartResources resources{memory, *compute.backend, times,
        [&](const std::string& path) { return WorkFolder::placeIn(task.workFolder, path); }, {}};
    PartWriter writer(files, plan->plan(), resources, job);
    const PartEvents events
        = eventsOf(files, WorkFolder::partJournalIn(task.workFolder, task.journal), reply.lines, plan.get());
    JournalFollower others(
        files, WorkFolder::partJournalIn(task.workFolder, task.othersJournal), task.othersFrom, task.others);
    const auto recorded = [&] {
        std::vector<PieceRecord> out = others.take();
        for (PieceRecord& record : out)
            record.piece.file = plan->fileFor(record.piece.file);
        return out;
    };
    const ReadsBack readsBack{.otherBytes = others.bytes(), .others = recorded};
    const Status done = task.order == Order::Write
        ? writer.write(task.pieces, journal.pieces, readsBack, events)
        : writer.check(journal.pieces, events);
    reply.readDirectly = writer.readDirectly();
    return done;
}

} // namespace

Status serveLeader(io::FileSystem& files, Peers& peers, const PeerOptions& options, JobContext& job)
{
    for (;;) {
        SHARDSCOPE_TRY(const std::string text, peers.scatter({}));
        Reply reply;
        const auto task = taskFrom(text);
        if (!task)
            reply.status = forward(task.error());
        else if (task->order == Order::End)
            return job.poll();
        else
            reply.status = work(files, *task, options, job, reply);
        SHARDSCOPE_CHECK(peers.gather(toText(reply)));
    }
}

Status dismissPeers(Peers& peers)
{
    SHARDSCOPE_CHECK(peers.scatter(std::vector<std::string>(peers.size(), toText(Task{}))));
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
        if (rank > 0) {
            SHARDSCOPE_TRY(tasks[rank], checkTask(rank, shares[rank]));
        }
    }
    return run(
        std::move(tasks),
        [&](PartWriter& writer, const PartEvents& events) { return writer.check(shares[0], events); },
        journal);
}

std::string PeerWriters::journalOf(uint32_t rank) const
{
    return "rank-" + std::to_string(rank) + "-of-" + std::to_string(m_peers.size());
}

/// While no process writes to it.
Result<uint64_t> PeerWriters::journalBytes(uint32_t rank) const
{
    SHARDSCOPE_TRY(const io::FileIdentity found, identityAt(m_files, m_work.partJournal(journalOf(rank))));
    return found.bytes;
}

/// The process whose pieces this one reads back.
uint32_t PeerWriters::before(uint32_t rank) const
{
    return (rank + m_peers.size() - 1) % m_peers.size();
}

Result<std::string> PeerWriters::writeTask(uint32_t rank, std::span<const PieceRecord> known, bool readsBack)
{
    const std::vector<FilePiece>& pieces = m_written[rank];
    Task out;
    out.order = Order::Write;
    out.workFolder = std::filesystem::absolute(m_work.path());
    out.journal = journalOf(rank);
    if (readsBack) {
        out.othersJournal = journalOf(before(rank));
        SHARDSCOPE_TRY(out.othersFrom, journalBytes(before(rank)));
        out.others = m_written[before(rank)];
    }
    SHARDSCOPE_TRY(StoredPlan::Stored stored, StoredPlan::store(m_files, m_plan, pieces, out.others));
    out.plan = std::move(stored.text);
    for (const FilePiece& piece : pieces) {
        const uint32_t file = stored.fileFor(piece.file);
        const bool isFirstOfFile = out.pieces.empty() || out.pieces.back().file != file;
        out.pieces.push_back({file, piece.range});
        for (const PieceRecord& record :
            isFirstOfFile ? recordsOf(known, piece.file) : std::span<const PieceRecord>()) {
            PieceRecord checksums; // all that is needed of it
            checksums.piece = {file, record.piece.range};
            checksums.late = record.late;
            checksums.parts = record.parts;
            out.records += journalLine(checksums);
        }
    }
    return toText(out);
}

Result<std::string> PeerWriters::checkTask(uint32_t rank, std::span<const PieceRecord> pieces)
{
    Task out;
    out.order = Order::Check;
    out.workFolder = std::filesystem::absolute(m_work.path());
    out.journal = journalOf(rank);
    SHARDSCOPE_TRY(StoredPlan::Stored stored, StoredPlan::store(m_files, m_plan, {}, rangesOf(pieces)));
    out.plan = std::move(stored.text);
    for (PieceRecord record : pieces) {
        record.piece.file = stored.fileFor(record.piece.file);
        out.records += journalLine(record);
    }
    return toText(out);
}

Status PeerWriters::run(std::vector<std::string> tasks,
    const std::function<Status(PartWriter&, const PartEvents&)>& own, PieceJournal& journal)
{
    SHARDSCOPE_CHECK(m_peers.scatter(std::move(tasks)));
    PartWriter writer(m_files, m_plan, m_resources, m_job);
    Reply reply;
    reply.status = own(writer, eventsOf(m_files, m_work.partJournal(journalOf(0)), reply.lines));
    reply.readDirectly = writer.readDirectly();
    SHARDSCOPE_TRY(const auto answers, m_peers.gather(toText(reply)));
    Status status;
    for (const std::string& answer : answers) {
        const Reply each = replyFrom(answer);
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
