// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/examine.h"

#include "core/base/current_stop.h"
#include "core/base/finding_codes.h"
#include "core/base/parallel.h"
#include "core/checkpoint/open/open_listed.h"
#include "core/compare/digest/state_digest.h"
#include "core/doctor/byte_facts.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"
#include "core/io/outage_watch.h"
#include "core/torchfile/skeleton/skeleton_files.h"

#include "core/far/far_path.h"
#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace shardscope {

namespace {

constexpr std::string_view kFallback = "not-examined";
/// Total file size: at 500 MB/s reading takes four seconds.
constexpr uint64_t kReadAllBelow = uint64_t{2} << 30;

uint64_t bytesOf(const Checkpoint& checkpoint)
{
    uint64_t bytes = 0;
    for (const CheckpointFile& file : checkpoint.files) // sparse files can be of any size
        bytes += std::min(file.identity.bytes, std::numeric_limits<uint64_t>::max() - bytes);
    return bytes;
}

class Examination
{
public:
    Examination(io::FileSystem& files, const io::Path& path, const CheckOptions& options, JobContext& job,
        const FindingWatch& watch)
        : m_options(options)
        , m_watch(watch)
        , m_context{files, job, options.target, path, m_options.open, CheckDepth::Names, {}, {}, {}, {},
              nullptr, nullptr}
    {
        m_out.path = path.string();
        m_out.target = options.target;
        m_out.depth = options.choosesDepth ? CheckDepth::Metadata : options.depth;
        m_context.jobs = jobs();
    }

    Result<CheckResult> run()
    {
        for (const CheckDepth depth :
            {CheckDepth::Names, CheckDepth::Headers, CheckDepth::Metadata, CheckDepth::Bytes}) {
            if (depth > m_out.depth)
                break;
            const auto begin = std::chrono::steady_clock::now();
            m_context.depth = depth;
            Status done = learn(depth);
            if (done)
                done = look(depth);
            // What the last reads and diagnoses say may be that a read was given up.
            if (const Status polled = m_context.job.poll(); !polled)
                done = polled;
            TierFacts& tier = m_out.tiers[static_cast<size_t>(depth)];
            tier.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            // Stopped before the folders are known: there is no result.
            if (!done && done.error().code == ErrorCode::Cancelled && !m_out.folder.empty()) {
                m_out.stopped = true;
                break;
            }
            SHARDSCOPE_CHECK(done);
            tier.done = true;
            if (depth == CheckDepth::Metadata && m_options.choosesDepth)
                m_out.depth = chosenDepth();
        }
        m_out.bytesNotRead = bytesLeft();
        m_out.bytes = m_context.bytes;
        order();
        return std::move(m_out);
    }

private:
    /// Metadata for skeletons, which have no values, and for checkpoints that did not open.
    [[nodiscard]] CheckDepth chosenDepth() const
    {
        return m_out.checkpoint && !holdsNoValues(m_context.files, m_out.folder)
            ? defaultCheckDepth(*m_out.checkpoint)
            : CheckDepth::Metadata;
    }

    [[nodiscard]] uint64_t bytesLeft() const
    {
        if (m_out.checkpoint)
            return bytesNotRead(*m_out.checkpoint,
                m_out.tiers[static_cast<size_t>(CheckDepth::Bytes)].done ? CheckDepth::Bytes
                                                                         : CheckDepth::Metadata);
        uint64_t bytes = 0;
        for (const FolderEntry& entry : m_context.tag)
            bytes += entry.identity.bytes;
        return bytes;
    }

    /// Reads the facts for the diagnoses of a tier.
    Status learn(CheckDepth depth)
    {
        switch (depth) {
        case CheckDepth::Names:
            return learnNames();
        case CheckDepth::Headers:
            return learnHeaders();
        case CheckDepth::Metadata:
            return learnMetadata();
        case CheckDepth::Bytes:
            break;
        }
        return learnBytes();
    }

    Status learnHeaders()
    {
        SHARDSCOPE_TRY(m_context.headers, readHeaders(m_context, jobs()));
        return {};
    }

    Status learnBytes()
    {
        if (!m_context.checkpoint)
            return {};
        Workers workers(m_options.jobs);
        workers.shared = m_options.shared;
        SHARDSCOPE_TRY(
            auto bytes, readByteFacts(m_context.files, m_context.checkpoint, workers, m_context.job));
        SHARDSCOPE_CHECK(m_context.job.poll());
        m_context.bytes = std::move(bytes);
        std::vector<Finding> found = findingsOf(*m_context.checkpoint, m_context.bytes->scan);
        std::erase_if(found, [&](const Finding& finding) { // a file that did not open cannot be read either
            return finding.code == code::kFileUnreadable
                && std::any_of(m_out.findings.begin(), m_out.findings.end(), [&](const DoctorFinding& made) {
                       return made.finding.severity == Severity::Error && made.finding.where == finding.where;
                   });
        });
        take(found);
        return {};
    }

    Status learnNames()
    {
        const auto& listing = m_options.listing;
        SHARDSCOPE_TRY(m_context.found,
            listing ? discoverIn(m_context.files, *listing, m_options.open.tag, m_context.job)
                    : discoverAsked(m_context.files, m_context.asked, m_options.open, m_context.job));
        const Discovery& found = m_context.found;
        m_out.tag = found.tag;
        m_out.folder = found.tagFolder.empty() ? found.runFolder : found.tagFolder;
        if (!found.tagFolder.empty()) {
            SHARDSCOPE_TRY(m_context.tag, folderEntries(m_context.files, found.tagFolder));
        }
        take(found.findings);
        SHARDSCOPE_CHECK(openForCounting());
        if (found.runFolder.empty())
            return {};
        auto run = m_options.runEntries && listing->folder == found.runFolder
            ? Result<std::vector<FolderEntry>>(*m_options.runEntries)
            : folderEntries(m_context.files, found.runFolder);
        if (run)
            m_context.run = std::move(*run);
        else
            take({{kFallback, Severity::Warning,
                "files next to the tag cannot be listed: " + run.error().message, run.error().path, {}}});
        return {};
    }

    /// Opens what says which files there should be, unless all of the checkpoint will be opened.
    Status openForCounting()
    {
        const bool isAsked = std::any_of(diagnoses().begin(), diagnoses().end(),
            [&](const Diagnosis* diagnosis) { return diagnosis->countsFiles && isWanted(*diagnosis); });
        if (m_out.depth >= CheckDepth::Metadata || m_context.found.tagFolder.empty() || !isAsked)
            return {};
        // Which layers and experts have files of their own, only the metadata of all ranks say.
        const bool needsAll
            = std::any_of(m_context.tag.begin(), m_context.tag.end(), [](const FolderEntry& entry) {
                  return entry.parsed
                      && (entry.parsed->role == FileRole::LayerStates
                          || entry.parsed->role == FileRole::ExpertStates);
              });
        const auto opened = open(needsAll ? OpenDepth::Full : OpenDepth::Structure);
        if (!opened && saysNothing(opened.error()))
            return forward(opened.error());
        if (!opened) {
            take({{kFallback, Severity::Warning, "the files were not counted: " + opened.error().message,
                relativeToTag(opened.error().path), {}}});
            return {};
        }
        m_context.checkpoint = opened->checkpoint;
        std::vector<Finding> found = opened->checkpoint->findings;
        std::erase_if(found, [](const Finding& finding) { return !diagnosisOf(finding.code).countsFiles; });
        take(found);
        return {};
    }

    /// Whether an error of open() is about the question, and not a finding.
    [[nodiscard]] bool saysNothing(const Error& error) const
    {
        return error.code == ErrorCode::Cancelled
            || (m_options.open.kind && error.code == ErrorCode::NotACheckpoint);
    }

    Result<OpenedCheckpoint> open(OpenDepth depth)
    {
        OpenOptions options = m_options.open;
        options.depth = depth;
        return openDiscovered(m_context.files, m_context.found,
            m_options.listing ? &*m_options.listing : nullptr, options, m_context.job);
    }

    /// Empty for the tag itself.
    [[nodiscard]] std::string relativeToTag(const std::string& path) const
    {
        const io::Path at = io::Path(path).lexically_relative(m_context.found.tagFolder);
        return at == "." ? std::string() : at.string();
    }

    void setCheckpoint(const CheckpointPtr& opened)
    {
        m_context.checkpoint = opened;
        m_out.checkpoint = opened;
        take(opened->findings);
    }

    Status learnMetadata()
    {
        if (m_options.opened) {
            setCheckpoint(m_options.opened);
            return {};
        }
        auto opened = open(OpenDepth::Full);
        SHARDSCOPE_CHECK(m_context.job.poll());
        if (opened) {
            setCheckpoint(opened->checkpoint);
            return {};
        }
        const bool named = std::any_of(m_context.tag.begin(), m_context.tag.end(),
            [](const FolderEntry& entry) { return entry.parsed.has_value(); });
        if (saysNothing(opened.error()) || !named)
            return forward(std::move(opened).error());
        const Error& error = opened.error();
        take({{error.code == ErrorCode::Hostile ? "file-hostile" : "file-unreadable", Severity::Error,
            error.message, relativeToTag(error.path), {}}});
        return {};
    }

    Status look(CheckDepth depth)
    {
        std::vector<const Diagnosis*> wanted;
        for (const Diagnosis* diagnosis : diagnoses()) {
            const CheckDepth at = diagnosis->countsFiles && m_out.depth >= CheckDepth::Metadata
                ? CheckDepth::Metadata
                : diagnosis->depth;
            if (diagnosis->look != nullptr && at == depth && isWanted(*diagnosis))
                wanted.push_back(diagnosis);
        }
        return parallelFor(wanted.size(), jobs(), m_context.job, [&](size_t i) -> Status {
            FindingSink sink(*wanted[i]);
            const Status looked = wanted[i]->look(m_context, sink);
            if (!looked && looked.error().code == ErrorCode::Cancelled)
                return looked;
            take(sink.take());
            // Missing values of a skeleton are expected; a finding already says that it is a skeleton.
            const bool noValues = !looked && looked.error().code == ErrorCode::Unsupported
                && holdsNoValues(m_context.files, m_out.folder);
            if (!looked && !noValues)
                take({{kFallback, Severity::Warning,
                    "the check for `" + std::string(wanted[i]->code) + "` failed: " + looked.error().message,
                    looked.error().path, {}}});
            return {};
        });
    }

    [[nodiscard]] bool isWanted(const Diagnosis& diagnosis) const
    {
        const auto names = [&](const std::string& word) { return isNamedBy(diagnosis, word); };
        return (m_options.only.empty() || std::any_of(m_options.only.begin(), m_options.only.end(), names))
            && std::none_of(m_options.skip.begin(), m_options.skip.end(), names);
    }

    /// Thread-safe. Readers report findings again that the names in the folder already showed. After a stop,
    /// drops them: they may be about reads that were given up.
    void take(const std::vector<Finding>& findings)
    {
        if (findings.empty() || m_context.job.cancelled())
            return;
        const std::lock_guard lock(m_mutex);
        dropOfHeaders(findings);
        // Lists are as long as a checkpoint has files, so each is searched by key.
        std::unordered_map<std::string, size_t> known;
        for (size_t i = 0; i < m_out.findings.size(); ++i)
            known.emplace(keyOf(m_out.findings[i].finding), i);
        for (const Finding& finding : findings) {
            const Diagnosis* diagnosis = &diagnosisOf(finding.code);
            if (!isWanted(*diagnosis))
                continue;
            DoctorFinding made{finding, diagnosis, commandOf(*diagnosis, finding), m_context.depth};
            const auto [at, isNew] = known.emplace(keyOf(finding), m_out.findings.size());
            if (!isNew) {
                m_out.findings[at->second] = std::move(made);
                continue;
            }
            m_out.findings.push_back(std::move(made));
            if (m_watch)
                m_watch(m_out.findings.back());
        }
    }

    static std::string keyOf(const Finding& finding)
    {
        return std::string(finding.code) + '\0' + finding.where.text() + '\0' + finding.message;
    }

    /// Drops what the check of headers says of files about which a reader says more.
    void dropOfHeaders(const std::vector<Finding>& findings)
    {
        std::unordered_set<std::string> read;
        for (const Finding& finding : findings) {
            if (isFromReader(finding) && isWanted(diagnosisOf(finding.code)))
                read.insert(finding.where.text());
        }
        if (!read.empty())
            std::erase_if(m_out.findings, [&](const DoctorFinding& other) {
                return isOfHeaders(other) && read.contains(other.finding.where.text());
            });
    }

    /// Whether a reader has read the file: it reports more exactly than the check of headers.
    [[nodiscard]] bool isFromReader(const Finding& finding) const
    {
        return m_context.depth == CheckDepth::Metadata && finding.severity == Severity::Error
            && !finding.where.isEmpty();
    }
    static bool isOfHeaders(const DoctorFinding& other)
    {
        return other.seenIn == CheckDepth::Headers && other.finding.severity == Severity::Error;
    }

    [[nodiscard]] std::string commandOf(const Diagnosis& diagnosis, const Finding& finding) const
    {
        const bool ofPointer
            = diagnosis.code == code::kLatestMissing || diagnosis.code == code::kLatestDangling;
        if (ofPointer && !m_context.found.unreadableFolders.empty())
            return {}; // the newest tag may be one that cannot be read
        if (diagnosis.command != nullptr)
            return diagnosis.command(m_context, finding);
        if (!repairs(diagnosis, finding))
            return {};
        return commandOn(m_context, "repair") + " --fix " + std::string(diagnosis.code);
    }

    void order()
    {
        const auto key = [](const DoctorFinding& f) {
            return std::tuple(-static_cast<int>(f.finding.severity), f.diagnosis->silent ? 0 : 1,
                std::string_view(f.finding.code), f.finding.where.text());
        };
        std::stable_sort(m_out.findings.begin(), m_out.findings.end(),
            [&](const DoctorFinding& a, const DoctorFinding& b) { return key(a) < key(b); });
    }

    [[nodiscard]] unsigned jobs() const { return m_options.jobs == 0 ? defaultJobs() : m_options.jobs; }

    const CheckOptions& m_options;
    const FindingWatch& m_watch;
    CheckContext m_context;
    CheckResult m_out;
    std::mutex m_mutex;
};

} // namespace

std::optional<Severity> CheckResult::worst() const
{
    std::optional<Severity> out;
    for (const DoctorFinding& made : findings)
        out = std::max(out.value_or(Severity::Info), made.finding.severity);
    return out;
}

std::string_view CheckResult::partNotRead() const
{
    const auto isDone = [&](CheckDepth tier) { return tiers[static_cast<size_t>(tier)].done; };
    if (bytesNotRead == 0)
        return {};
    if (isDone(CheckDepth::Metadata) && checkpoint)
        return "values";
    return isDone(CheckDepth::Headers) ? "metadata and values" : "content";
}

CheckDepth defaultCheckDepth(const Checkpoint& checkpoint)
{
    // Values of another host are not fetched unless somebody asks for it.
    return bytesOf(checkpoint) < kReadAllBelow && !far::isElsewhere(checkpoint.tagFolder)
        ? CheckDepth::Bytes
        : CheckDepth::Metadata;
}

uint64_t bytesNotRead(const Checkpoint& checkpoint, CheckDepth depth)
{
    return depth == CheckDepth::Bytes ? 0 : bytesOf(checkpoint);
}

Status checkCodes(const std::vector<std::string>& words)
{
    for (const std::string& word : words) {
        const auto all = diagnoses();
        if (std::none_of(all.begin(), all.end(), [&](const auto* each) { return isNamedBy(*each, word); }))
            return fail(ErrorCode::Usage, "`" + word + "` is not a known finding", {},
                Hint::command("check --list") + " shows all findings");
    }
    return {};
}

Result<CheckResult> examine(io::FileSystem& files, const io::Path& path, const CheckOptions& options,
    JobContext& job, const FindingWatch& watch)
{
    SHARDSCOPE_CHECK(checkCodes(options.only));
    SHARDSCOPE_CHECK(checkCodes(options.skip));
    std::vector<io::Path> places = options.open.roots;
    places.push_back(path);
    const io::OutageWatch outages(std::move(places));
    const StopScope scope(job.stopToken());
    return outages.judged(Examination(files, path, options, job, watch).run());
}

} // namespace shardscope
