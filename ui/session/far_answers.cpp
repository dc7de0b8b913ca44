// SPDX-License-Identifier: Apache-2.0
#include "ui/session/far_answers.h"

#include "core/checkpoint/folder/skeleton.h"
#include "core/checkpoint/open/source_arguments.h"
#include "core/far/far_command.h"
#include "core/far/far_path.h"
#include "core/report/answers/check_report.h"
#include "core/report/answers/fingerprint_report.h"
#include "core/report/answers/verify_report.h"
#include "core/report/jobs/jobs_report.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>

namespace shardscope::ui {

namespace {

/// A path of this program's as one of its host.
std::string thereOf(const std::string& path)
{
    const auto there = far::farPathOf(path);
    return there ? there->path.native() : path;
}

/// "shardscope VERB PATH", with what opens the place.
std::vector<std::string> wordsFor(const char* verb, const CheckPlace& place)
{
    const SourceArguments source = sourceArguments(place.path, place.open);
    std::vector<std::string> out{verb, thereOf(source.path.native())};
    std::ranges::transform(source.options, std::back_inserter(out), thereOf);
    return out;
}

/// `latest` may name another tag by now.
CheckPlace tagOf(CheckPlace place)
{
    if (!place.tagFolder.empty()) {
        place.path = place.tagFolder;
        place.open.tag.clear();
    }
    return place;
}

/// Passes on the progress of the other end.
class Followed
{
public:
    explicit Followed(JobContext& job)
        : m_job(job)
    {
    }

    void take(std::string_view json)
    {
        const auto now = parseProgress(json);
        if (!now)
            return;
        if (now->phase != m_last.phase || now->bytesTotal != m_last.bytesTotal
            || now->bytesDone < m_last.bytesDone) {
            m_job.beginPhase(now->phase, now->bytesTotal);
            m_last.bytesDone = 0;
        }
        m_job.advance(now->bytesDone - m_last.bytesDone);
        m_last = *now;
    }

private:
    JobContext& m_job;
    Progress m_last;
};

Result<std::string> answerThere(const std::string& host, std::vector<std::string> words, JobContext& job)
{
    Followed followed(job);
    SHARDSCOPE_TRY(const far::FarCommand command,
        far::withoutHome({.host = host,
            .words = std::move(words),
            .progress = [&followed](std::string_view json) { followed.take(json); },
            .job = &job}));
    return far::answerOf(command);
}

using Key = std::tuple<std::string_view, std::string, std::string>;

Key keyOf(const Finding& finding)
{
    return {finding.code, finding.where.text(), finding.message};
}

/// The findings of the other end, which has read every byte; what was seen from here, as it was seen.
void takeFound(
    std::vector<DoctorFinding> found, const std::string& host, CheckResult& seen, const FindingWatch& watch)
{
    std::map<Key, DoctorFinding*> known;
    for (DoctorFinding& made : seen.findings)
        known.emplace(keyOf(made.finding), &made);
    for (DoctorFinding& made : found) {
        const std::string where = made.finding.where.text();
        if (where.starts_with('/'))
            made.finding.where = Place::parsed(far::farPath(host, where).native());
        const auto same = known.find(keyOf(made.finding));
        made.seenIn = CheckDepth::Bytes;
        if (same != known.end())
            made = *same->second;
        else if (watch)
            watch(made);
    }
    seen.findings = std::move(found);
}

} // namespace

std::string hostOf(const CheckPlace& place)
{
    std::string host;
    for (const io::Path& path : readAt(place)) {
        const auto there = far::farPathOf(path);
        if (!there || (!host.empty() && there->host != host))
            return {};
        host = there->host;
    }
    return host;
}

Result<CheckResult> examineAnywhere(io::FileSystem& files, const CheckPlace& place,
    const CheckOptions& options, JobContext& job, const FindingWatch& watch)
{
    const std::string host = hostOf(place);
    // A disk that the checkpoint is to be used on is one of this machine.
    if (host.empty() || options.depth != CheckDepth::Bytes || options.target.disk)
        return examine(files, place.path, options, job, watch);
    CheckOptions metadata = options;
    metadata.depth = CheckDepth::Metadata;
    SHARDSCOPE_TRY(CheckResult result, examine(files, place.path, metadata, job, watch));
    if (result.stopped || !result.checkpoint || isSkeleton(*result.checkpoint))
        return result;
    std::vector<std::string> words = wordsFor("check", place);
    words.insert(words.end(), {"--depth", std::string(checkDepthName(CheckDepth::Bytes))});
    for (const std::string& code : options.skip)
        words.insert(words.end(), {"--skip", code});
    if (const std::string use = checkTargetWord(options.target); !use.empty())
        words.insert(words.end(), {"--for", use});
    const auto answer = answerThere(host, std::move(words), job);
    if (!answer && answer.error().code == ErrorCode::Cancelled) {
        result.stopped = true;
        return result;
    }
    if (!answer)
        return forward(answer.error());
    SHARDSCOPE_TRY(CheckResult found, parseCheck(*answer));
    takeFound(std::move(found.findings), host, result, watch);
    result.tiers[static_cast<size_t>(CheckDepth::Bytes)]
        = found.tiers[static_cast<size_t>(CheckDepth::Bytes)];
    result.depth = found.depth;
    result.bytesNotRead = found.bytesNotRead;
    return result;
}

Result<StateFingerprint> fingerprintThere(
    const CheckPlace& place, const Checkpoint& checkpoint, JobContext& job)
{
    SHARDSCOPE_TRY(
        const std::string json, answerThere(hostOf(place), wordsFor("fingerprint", tagOf(place)), job));
    SHARDSCOPE_TRY(StateFingerprint found, parseFingerprint(json));
    for (const CheckpointFile& file : checkpoint.files) {
        ++found.files;
        found.bytes += std::min(file.identity.bytes, std::numeric_limits<uint64_t>::max() - found.bytes);
    }
    return found;
}

Result<VerifyReport> verifyThere(const CheckPlace& place, JobContext& job)
{
    SHARDSCOPE_TRY(const std::string json, answerThere(hostOf(place), wordsFor("verify", tagOf(place)), job));
    return parseVerify(json);
}

Status statisticsThere(const CheckPlace& place, const Checkpoint& checkpoint,
    const std::vector<TensorAsked>& tensors, JobContext& job,
    const std::function<Status(const TensorAsked& tensor, const TensorFacts& found)>& take)
{
    constexpr size_t kOfAnAnswer = 20'000; // some megabytes
    for (size_t begin = 0; begin < tensors.size(); begin += kOfAnAnswer) {
        const size_t count = std::min(kOfAnAnswer, tensors.size() - begin);
        std::vector<std::string> words = wordsFor("stats", tagOf(place));
        words.insert(words.end(), {"--exact", "--bars", "0", "--"});
        std::rotate(words.begin() + 1, words.begin() + 2, words.end()); // the path, behind the options
        const auto nameOf
            = [&](const TensorAsked& tensor) { return checkpoint.params[index(tensor.param)].name; };
        for (size_t i = begin; i < begin + count; ++i)
            words.push_back(Place(ParamAddress{nameOf(tensors[i]), tensors[i].state, {}}).text());
        SHARDSCOPE_TRY(const std::string json, answerThere(hostOf(place), std::move(words), job));
        SHARDSCOPE_TRY(const std::vector<TensorFacts> found, parseStats(json));
        if (found.size() != count)
            return fail(ErrorCode::Hostile, "the other host does not answer what it was asked");
        for (size_t i = 0; i < count; ++i) {
            const TensorAsked& asked = tensors[begin + i];
            if (found[i].name != nameOf(asked) || found[i].state != asked.state)
                return fail(ErrorCode::SourceChanged, "the checkpoint has changed since it was read",
                    checkpoint.tagFolder.native(), "open it again");
            SHARDSCOPE_CHECK(take(asked, found[i]));
        }
    }
    return {};
}

} // namespace shardscope::ui
