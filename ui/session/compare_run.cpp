// SPDX-License-Identifier: Apache-2.0
#include "ui/session/compare_run.h"

#include "core/base/parallel.h"
#include "core/checkpoint/model/require.h"
#include "core/checkpoint/open/open.h"
#include "core/compute/compute_choice.h"
#include "core/far/far_host.h"
#include "core/far/far_path.h"
#include "core/layout/slices/slice_rules.h"
#include "core/report/answers/diff_report.h"
#include "core/report/documents/diff_csv.h"
#include "ui/session/far_answers.h"
#include "ui/session/shell_words.h"
#include "ui/text/text.h"

#include <QLocale>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

Result<JudgedDiff> judge(io::FileSystem& files, const PlacedCheckpoint& left, const DiffPair& pair,
    const CompareWish& wish, JobContext& job)
{
    if (canCompareThere(left.place, wish))
        return compareThere(files, left, pair, wish, job);
    const ComputeNeed need{ComputeTask::Comparison,
        countFiles(*pair.left).bytes + countFiles(*pair.right).bytes,
        wish.options.workers.jobs == 0 ? defaultJobs() : wish.options.workers.jobs};
    SHARDSCOPE_TRY(const ComputeChoice compute, chooseCompute({}, need, files, userRateMemory()));
    DiffOptions options = wish.options;
    options.workers.backend = compute.backend.get();
    return judgeDiff(files, pair, options, job);
}

Result<CompareOutcomePtr> compare(
    io::FileSystem& files, const PlacedCheckpoint& placed, const CompareWish& wish, JobContext& job)
{
    const CheckpointPtr& left = placed.checkpoint;
    SHARDSCOPE_CHECK(requireModel(*left));
    far::connectAgainTo(std::span(&wish.other, 1));
    SHARDSCOPE_TRY(const OpenedCheckpoint other, openCheckpoint(files, wish.other, {}, job));
    SHARDSCOPE_CHECK(requireModel(*other.checkpoint));
    std::optional<SliceRules> rules;
    if (!wish.patternsFile.empty()) {
        SHARDSCOPE_TRY(const std::string text, files.readSmall(wish.patternsFile, kPatternsLimitBytes));
        SHARDSCOPE_TRY(rules, SliceRules::fromJson(text, wish.patternsFile.native()));
    }
    SHARDSCOPE_TRY(JudgedDiff judged,
        judge(files, placed, {left, other.checkpoint, rules ? &*rules : nullptr}, wish, job));
    auto out = std::make_shared<CompareOutcome>();
    out->left = left;
    out->right = other.checkpoint;
    out->leftLooks = mapLooks(*out->left);
    out->rightLooks = mapLooks(*out->right);
    out->judged = std::make_shared<const JudgedDiff>(std::move(judged));
    out->differences = std::make_shared<const DifferenceList>(out->judged);
    auto leftMarks = differenceMarks(out->judged, false, *out->left, wish.options.states);
    auto rightMarks = differenceMarks(out->judged, true, *out->right, wish.options.states);
    leftMarks->otherPresent = rightMarks->present;
    rightMarks->otherPresent = leftMarks->present;
    out->leftMarks = std::move(leftMarks);
    out->rightMarks = std::move(rightMarks);
    return out;
}

QString whereOf(const CheckPlace& left, const CompareWish& wish)
{
    if (canCompareThere(left, wish))
        return CompareRun::tr("computed on %1").arg(toText(hostOf(left)));
    QStringList hosts;
    for (const CheckPlace& place : {left, CheckPlace{wish.other, {}}}) {
        for (const io::Path& path : readAt(place)) {
            const auto there = far::farPathOf(path);
            if (there && !hosts.contains(toText(there->host)))
                hosts.append(toText(there->host));
        }
    }
    return hosts.isEmpty() ? QString() : CompareRun::tr("values are sent by %1").arg(hosts.join(u", "_s));
}

} // namespace

CompareRun::CompareRun(io::FileSystem& files, QObject* parent)
    : QObject(parent)
    , m_files(files)
{
}

void CompareRun::start(PlacedCheckpoint left, CompareWish wish)
{
    m_where = whereOf(left.place, wish);
    m_wish = std::move(wish);
    m_outcome.reset();
    m_error.reset();
    m_progress = {};
    m_running = true;
    m_worker.run<Stage>(
        [&files = m_files, left = std::move(left), wish = *m_wish](
            const std::stop_token& token, const std::function<void(Stage)>& deliver) {
            JobContext job(token, [&deliver](const Progress& progress) { deliver({progress, {}}); });
            deliver({{}, compare(files, left, wish, job)});
        },
        [this](Stage stage) { receive(std::move(stage)); });
    Q_EMIT changed();
}

void CompareRun::receive(Stage stage)
{
    if (!stage.result) {
        m_progress = std::move(stage.progress);
        Q_EMIT progressChanged();
        return;
    }
    m_running = false;
    if (*stage.result)
        m_outcome = std::move(**stage.result);
    else
        m_error = std::move(*stage.result).error();
    Q_EMIT changed();
}

void CompareRun::cancel()
{
    if (!m_running)
        return;
    m_worker.cancel();
    m_running = false;
    Q_EMIT changed();
}

void CompareRun::clear()
{
    m_worker.cancel();
    m_running = false;
    m_outcome.reset();
    m_error.reset();
    m_wish.reset();
    m_where.clear();
    Q_EMIT changed();
}

QString compareCommand(const SourceWords& left, const CompareWish& wish)
{
    ShellCommand command(u"diff"_s, left);
    command.argument(wish.other.native());
    const auto shortest
        = [](double value) { return QString::number(value, 'g', QLocale::FloatingPointShortest); };
    const Tolerance& tolerance = wish.options.tolerance;
    if (tolerance.relative > 0)
        command.option(u"--rtol"_s, shortest(tolerance.relative));
    if (tolerance.absolute > 0)
        command.option(u"--atol"_s, shortest(tolerance.absolute));
    for (const std::string& state : wish.options.states)
        command.option(u"--state"_s, state);
    return command.optionIfAny(u"--patterns"_s, wish.patternsFile.native()).text();
}

namespace {

/// With both checkpoints.
ReportHead headOf(io::FileSystem& files, const ComparisonToSave& comparison)
{
    ReportHead out = comparison.head;
    const CompareOutcome& outcome = *comparison.outcome;
    out.about.push_back(identityOf(files, *outcome.left, outcome.left->tagFolder));
    out.about.push_back(identityOf(files, *outcome.right, comparison.wish.other));
    return out;
}

} // namespace

QString writeComparison(io::FileSystem& files, const ComparisonToSave& comparison, const SaveTarget& target)
{
    const CompareOutcome& outcome = *comparison.outcome;
    const CompareWish& wish = comparison.wish;
    const ReportHead head = headOf(files, comparison);
    return saveText(target, [&](const TextSink& sink) {
        writeDiffJson(sink,
            {{*outcome.left, outcome.left->tagFolder.native(), {}, nullptr, &head},
                {*outcome.right, wish.other.native(), {}}, outcome.judged->diff, outcome.judged->verdict,
                outcome.judged->causes, 0});
    });
}

QString writeDifferenceRows(io::FileSystem& files, const ComparisonToSave& comparison,
    const std::vector<uint32_t>& rows, const SaveTarget& target)
{
    const ReportHead head = headOf(files, comparison);
    return saveText(target, [&](const TextSink& sink) {
        const DifferenceList& list = *comparison.outcome->differences;
        putHeadComments(sink, head);
        DiffCsv csv(sink);
        for (const uint32_t row : rows) {
            if (const ScalarDifference* scalar = list.scalar(row))
                csv.addScalar(*scalar);
            else if (const StateDifference* values = list.values(row))
                csv.addValues(*list.param(row), *values);
            else if (const PartialState* partial = list.partial(row))
                csv.addPartial(*list.param(row), *partial);
            else if (list.row(row).kind == DifferenceKind::Shape)
                csv.addShape(*list.param(row));
            else
                csv.addAlone(
                    *list.param(row), list.row(row).kind == DifferenceKind::OnlyRight, list.state(row));
        }
    });
}

} // namespace shardscope::ui
