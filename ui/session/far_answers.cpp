// SPDX-License-Identifier: Apache-2.0
#include "ui/session/far_answers.h"

#include "core/base/current_stop.h"
#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/skeleton.h"
#include "core/checkpoint/folder/wrapper_files.h"
#include "core/checkpoint/open/source_arguments.h"
#include "core/far/far_command.h"
#include "core/far/far_files.h"
#include "core/far/far_path.h"
#include "core/report/answers/check_report.h"
#include "core/report/answers/fingerprint_report.h"
#include "core/report/answers/verify_report.h"
#include "core/report/jobs/jobs_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
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

tl::unexpected<Error> changed(const io::Path& where)
{
    return fail(ErrorCode::SourceChanged, "the checkpoint has changed since it was read", where.native(),
        "open it again");
}

/// Success if the files of the tag are those that were read. Other saves of the run may change those next to
/// it.
Status requireUnchanged(io::FileSystem& files, const Checkpoint& checkpoint)
{
    std::vector<io::Path> paths;
    std::vector<io::FileIdentity> known;
    for (const CheckpointFile& file : checkpoint.files) {
        if (file.identity == io::FileIdentity() || file.role == FileRole::Pointer || isNextToTag(file.name))
            continue;
        paths.push_back(file.path);
        known.push_back(file.identity);
    }
    const auto infos = files.statAll(paths);
    for (size_t i = 0; i < infos.size(); ++i) {
        if (!infos[i] && infos[i].error().code != ErrorCode::NotFound)
            return forward(infos[i].error());
        if (!infos[i] || infos[i]->identity != known[i])
            return changed(paths[i]);
    }
    return {};
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
        constexpr auto kPause = std::chrono::milliseconds(100);
        const auto time = std::chrono::steady_clock::now();
        if (m_passedOn && time - *m_passedOn < kPause)
            return;
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
        m_passedOn = time;
    }

private:
    JobContext& m_job;
    Progress m_last;
    std::optional<std::chrono::steady_clock::time_point> m_passedOn;
};

Result<std::string> answerThere(far::FarCommand asked, JobContext& job)
{
    const StopScope scope(job.stopToken());
    Followed followed(job);
    asked.progress = [&followed](std::string_view json) { followed.take(json); };
    asked.job = &job;
    SHARDSCOPE_TRY(const far::FarCommand command, far::withoutHome(std::move(asked)));
    return far::answerOf(command);
}

/// Of the checkpoints that were read. What others cannot answer fails as a change, too.
Result<std::string> answerAbout(
    std::initializer_list<CheckpointThere> of, far::FarCommand asked, JobContext& job)
{
    asked.host = hostOf(of.begin()->place);
    auto answer = answerThere(std::move(asked), job);
    if (!answer && answer.error().code == ErrorCode::Cancelled)
        return answer;
    for (const CheckpointThere& each : of) {
        const Status same = requireUnchanged(each.files, each.checkpoint);
        if (!same && (answer || same.error().code == ErrorCode::SourceChanged))
            return forward(same.error());
    }
    return answer;
}

using Key = std::tuple<std::string_view, std::string, std::string>;

Key keyOf(const Finding& finding)
{
    return {finding.code, finding.where.text(), finding.message};
}

/// What the other end says of a file of its own.
Place placeHere(const Place& place, const std::string& host)
{
    const std::string text = place.text();
    return text.starts_with('/') ? Place::parsed(far::farPath(host, text).native()) : place;
}

void sortBySeverity(std::vector<DoctorFinding>& findings)
{
    std::ranges::stable_sort(
        findings, std::ranges::greater(), [](const DoctorFinding& made) { return made.finding.severity; });
}

/// The findings of the other end, which has read every byte; what was seen from here, as it was seen. Where
/// it was stopped, it may not have come to all that was seen from here.
void takeFound(CheckResult there, const std::string& host, CheckResult& seen, const FindingWatch& watch)
{
    std::vector<DoctorFinding> found = std::move(there.findings);
    std::map<Key, DoctorFinding*> known;
    for (DoctorFinding& made : seen.findings)
        known.emplace(keyOf(made.finding), &made);
    for (DoctorFinding& made : found) {
        made.finding.where = placeHere(made.finding.where, host);
        const auto same = known.find(keyOf(made.finding));
        made.seenIn = CheckDepth::Bytes;
        if (same != known.end())
            made = *same->second;
        else if (watch)
            watch(made);
    }
    if (there.stopped) {
        std::set<Key> said;
        for (const DoctorFinding& made : found)
            said.insert(keyOf(made.finding));
        for (const DoctorFinding& made : seen.findings) {
            if (!said.contains(keyOf(made.finding)))
                found.push_back(made);
        }
        sortBySeverity(found);
    }
    seen.findings = std::move(found);
}

/// Whether the tag, in `folder`, is one that the run folder's pointer, or its newest step, has named.
bool wasChosen(const CheckPlace& place, const std::string& tag, const io::Path& folder)
{
    return place.open.tag.empty() && !tag.empty() && folder != place.path && folder.filename() == tag;
}

/// Every byte of the tag that was read from here.
Result<CheckResult> checkedThere(
    const CheckPlace& place, const CheckOptions& options, const CheckResult& seen, JobContext& job)
{
    const std::string host = hostOf(place);
    CheckPlace at = place;
    if (wasChosen(place, seen.tag, seen.folder))
        at.open.tag = seen.tag;
    std::vector<std::string> words = wordsFor("check", at);
    words.insert(words.end(), {"--depth", std::string(checkDepthName(CheckDepth::Bytes))});
    for (const std::string& code : options.skip)
        words.insert(words.end(), {"--skip", code});
    if (const std::string use = checkTargetWord(options.target); !use.empty())
        words.insert(words.end(), {"--for", use});
    SHARDSCOPE_TRY(const std::string json, answerThere({.host = host, .words = std::move(words)}, job));
    SHARDSCOPE_TRY(CheckResult found, parseCheck(json));
    if (found.error)
        return forward(far::ofHost(*found.error, host));
    if (found.tag != seen.tag)
        return changed(place.path);
    return found;
}

/// What only a check without --tag says: that a newer step is unfinished.
void keepUnfinished(const CheckResult& seen, CheckResult& found)
{
    for (const DoctorFinding& made : seen.findings) {
        const auto isSame = [&](const DoctorFinding& other) {
            return other.finding.code == made.finding.code && other.finding.where == made.finding.where;
        };
        if (made.finding.code == code::kModelStatesMissing && std::ranges::none_of(found.findings, isSame))
            found.findings.push_back(made);
    }
    sortBySeverity(found.findings);
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
    auto found = checkedThere(place, options, result, job);
    if (!found && found.error().code == ErrorCode::Cancelled) {
        result.stopped = true;
        return result;
    }
    if (!found)
        return forward(found.error());
    SHARDSCOPE_CHECK(requireUnchanged(files, *result.checkpoint));
    if (wasChosen(place, result.tag, result.folder))
        keepUnfinished(result, *found);
    result.tiers[static_cast<size_t>(CheckDepth::Bytes)]
        = found->tiers[static_cast<size_t>(CheckDepth::Bytes)];
    result.depth = found->depth;
    result.bytesNotRead = found->bytesNotRead;
    result.stopped = found->stopped;
    takeFound(std::move(*found), host, result, watch);
    return result;
}

Result<StateFingerprint> fingerprintThere(const CheckpointThere& of, JobContext& job)
{
    SHARDSCOPE_TRY(const std::string json,
        answerAbout({of}, {.host = {}, .words = wordsFor("fingerprint", tagOf(of.place))}, job));
    SHARDSCOPE_TRY(StateFingerprint found, parseFingerprint(json));
    for (const CheckpointFile& file : of.checkpoint.files) {
        ++found.files;
        found.bytes += std::min(file.identity.bytes, std::numeric_limits<uint64_t>::max() - found.bytes);
    }
    return found;
}

Result<VerifyReport> verifyThere(const CheckpointThere& of, JobContext& job)
{
    SHARDSCOPE_TRY(const std::string json,
        answerAbout({of}, {.host = {}, .words = wordsFor("verify", tagOf(of.place))}, job));
    return parseVerify(json);
}

namespace {

/// "shardscope stats --exact", for these tensors.
std::vector<std::string> statsWords(const CheckpointThere& of, std::span<const TensorAsked> tensors)
{
    std::vector<std::string> words = wordsFor("stats", tagOf(of.place));
    words.insert(words.end(), {"--exact", "--bars", "0", "--"});
    std::rotate(words.begin() + 1, words.begin() + 2, words.end()); // the path, behind the options
    for (const TensorAsked& tensor : tensors)
        words.push_back(
            Place(ParamAddress{of.checkpoint.params[index(tensor.param)].name, tensor.state, {}}).text());
    return words;
}

} // namespace

Status statisticsThere(const CheckpointThere& of, const std::vector<TensorAsked>& tensors, JobContext& job,
    const std::function<Status(const TensorAsked& tensor, const TensorFacts& found)>& take)
{
    constexpr size_t kOfAnAnswer = 20'000; // some megabytes
    for (size_t begin = 0; begin < tensors.size(); begin += kOfAnAnswer) {
        const size_t count = std::min(kOfAnAnswer, tensors.size() - begin);
        const auto some = std::span(tensors).subspan(begin, count);
        SHARDSCOPE_TRY(
            const std::string json, answerAbout({of}, {.host = {}, .words = statsWords(of, some)}, job));
        SHARDSCOPE_TRY(const std::vector<TensorFacts> found, parseStats(json));
        if (found.size() != count)
            return fail(ErrorCode::Hostile, "the other host does not answer what it was asked");
        for (size_t i = 0; i < count; ++i) {
            const TensorAsked& asked = some[i];
            if (found[i].name != of.checkpoint.params[index(asked.param)].name
                || found[i].state != asked.state)
                return changed(of.checkpoint.tagFolder);
            SHARDSCOPE_CHECK(take(asked, found[i]));
        }
    }
    return {};
}

Result<TensorStatistics> exactStatisticsThere(
    const CheckpointThere& of, const TensorAsked& tensor, JobContext& job)
{
    constexpr size_t kLimit = size_t{4} << 20U; // a histogram of every bin has less than 1 MiB
    SHARDSCOPE_TRY(const std::string found,
        answerAbout(
            {of}, {.host = {}, .words = statsWords(of, {&tensor, 1}), .isRaw = true, .limit = kLimit}, job));
    SHARDSCOPE_TRY(std::vector<TensorStatistics> out, statisticsFromWire(of.checkpoint, {tensor}, found));
    if (!out.front().exact)
        return fail(ErrorCode::Hostile, "the other host does not answer what it was asked");
    if (out.front().unreadable)
        out.front().unreadable = far::ofHost(*out.front().unreadable, hostOf(of.place));
    return std::move(out.front());
}

bool canCompareThere(const CheckPlace& left, const CompareWish& wish)
{
    const std::string host = hostOf(left);
    const auto patterns = far::farPathOf(wish.patternsFile);
    return !host.empty() && hostOf({wish.other, {}}) == host
        && (wish.patternsFile.empty() || (patterns && patterns->host == host));
}

namespace {

/// What a comparison of these takes at most, with room to spare: some dozens of MiB for the regions, causes
/// and scalars, and what each tensor has in the lists of states and regions.
size_t mostOfComparison(const DiffPair& pair)
{
    constexpr size_t kOfAll = size_t{96} << 20U;
    constexpr size_t kOfTensor = 160; // numbers; of both sides together
    constexpr size_t kMost = size_t{1} << 30U;
    size_t out = kOfAll;
    for (const Checkpoint* checkpoint : {pair.left.get(), pair.right.get()}) {
        for (const TensorAsked& tensor : allTensors(*checkpoint)) {
            const size_t name = checkpoint->params[index(tensor.param)].name.size();
            out += std::min(kMost, kOfTensor + name + 4 * tensor.state.size());
            if (out >= kMost)
                return kMost;
        }
    }
    return out;
}

} // namespace

Result<JudgedDiff> compareThere(io::FileSystem& files, const PlacedCheckpoint& left, const DiffPair& pair,
    const CompareWish& wish, JobContext& job)
{
    CheckPlace from = left.place;
    if (wasChosen(from, pair.left->tag, pair.left->tagFolder))
        from.open.tag = pair.left->tag;
    const CheckPlace with{wish.other, {}};
    std::vector<std::string> words = wordsFor("diff", from);
    const auto add = [&](const char* option, const std::string& value) {
        words.insert(words.end(), {option, value});
    };
    if (wasChosen(with, pair.right->tag, pair.right->tagFolder))
        add("--other-tag", pair.right->tag);
    const Tolerance& tolerance = wish.options.tolerance;
    add("--rtol", fmt::format("{}", tolerance.relative));
    add("--atol", fmt::format("{}", tolerance.absolute));
    for (const std::string& state : wish.options.states)
        add("--state", state);
    if (!wish.patternsFile.empty())
        add("--patterns", thereOf(wish.patternsFile.native()));
    words.push_back(thereOf(wish.other.native()));
    SHARDSCOPE_TRY(const std::string found,
        answerAbout({{files, left.place, *pair.left}, {files, with, *pair.right}},
            {.host = {}, .words = std::move(words), .isRaw = true, .limit = mostOfComparison(pair)}, job));
    SHARDSCOPE_TRY(JudgedDiff judged, judgedFromWire(pair, found));
    for (NotComparedWhy& why : judged.diff.notCompared.why)
        why.where = placeHere(why.where, hostOf(left.place));
    return judged;
}

} // namespace shardscope::ui
