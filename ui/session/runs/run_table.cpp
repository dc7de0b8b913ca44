// SPDX-License-Identifier: Apache-2.0
#include "ui/session/runs/run_table.h"

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/report/answers/tags_report.h"
#include "ui/session/runs/tag_rows.h"
#include "ui/text/text.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

QString newestText(const RunRow& run)
{
    if (!run.read)
        return u"reading…"_s;
    const TagSummary* tag = run.read->newestComplete();
    if (tag == nullptr)
        return run.read->error ? u"–"_s : u"none"_s;
    return tag->tag.empty() ? u"no tags"_s : toText(tag->tag) % (tag->latest ? u"  · latest"_s : QString());
}

QString problemsText(const RunRow& run)
{
    if (!run.read)
        return {};
    QStringList out;
    for (const std::string& problem : runProblems(*run.read))
        out.append(sentenceText(problem));
    const size_t warnings = run.read->count(Severity::Warning);
    if (out.isEmpty() && warnings > 0)
        out.append(warnings == 1 ? u"1 warning:"_s : u"%1 warnings. The first:"_s.arg(warnings));
    for (const TagSummary& tag : run.read->read)
        for (const DoctorFinding& made : tag.findings)
            if (out.size() == 1 && warnings > 0 && made.finding.severity == Severity::Warning)
                out.append(sentenceText(made.finding.message));
    return out.isEmpty() ? u"None in names and headers"_s : out.join(u" "_s);
}

int severityOf(const RunRow& run)
{
    if (!run.read)
        return -1;
    if (run.read->error || run.read->newestComplete() == nullptr || run.read->count(Severity::Error) > 0)
        return 2;
    return run.read->count(Severity::Warning) > 0 ? 1 : -1;
}

} // namespace

const TagSummary* RunTableModel::tagOf(uint32_t row) const
{
    const TagSummary* tag = at(row).read ? at(row).read->shown() : nullptr;
    return tag != nullptr && !tag->error ? tag : nullptr;
}

RunTableModel::RunTableModel(QObject* parent)
    : ColumnTable(parent)
{
    const auto of = [this](auto text) {
        return [this, text](uint32_t row) { return tagOf(row) != nullptr ? text(*tagOf(row)) : u"–"_s; };
    };
    const auto by = [this](auto key) {
        return [this, key](uint32_t a, uint32_t b) {
            const auto keyOf = [&](uint32_t row) {
                return tagOf(row) != nullptr ? std::optional(key(*tagOf(row))) : std::nullopt;
            };
            return keyOf(a) < keyOf(b);
        };
    };
    Column name(tr("Run"), [this](uint32_t row) { return at(row).name; });
    name.tip = [this](uint32_t row) { return toText(at(row).folder); };
    name.copy = name.tip;
    name.less = [this](uint32_t a, uint32_t b) {
        return compareNaturally(at(a).name.toStdString(), at(b).name.toStdString()) < 0;
    };
    Column newest(tr("Newest complete tag"), [this](uint32_t row) { return newestText(at(row)); });
    newest.muted
        = [this](uint32_t row) { return !at(row).read || at(row).read->newestComplete() == nullptr; };
    newest.less = [this](uint32_t a, uint32_t b) { return newestText(at(a)) < newestText(at(b)); };
    Column step(tr("Step"), of([](const TagSummary& tag) {
        return tag.steps.globalSteps ? countText(static_cast<uint64_t>(*tag.steps.globalSteps)) : u"–"_s;
    }));
    step.isNumber = true;
    step.less = by([](const TagSummary& tag) { return tag.steps.globalSteps.value_or(-1); });
    Column kind(tr("Kind"), of([](const TagSummary& tag) { return kindText(tag.kind); }));
    kind.less = by([](const TagSummary& tag) { return tag.kind; });
    Column ranks(tr("Ranks"), of([](const TagSummary& tag) { return rankCountText(tag); }));
    ranks.isNumber = true;
    ranks.less = by([](const TagSummary& tag) { return tag.parallel.ranks(); });
    Column size(tr("Size"), of([](const TagSummary& tag) { return bytesText(tag.bytes); }));
    size.titleTip = tr("Of this tag");
    size.tip = of([](const TagSummary& tag) { return exactBytesText(tag.bytes); });
    size.copy = of([](const TagSummary& tag) { return QString::number(tag.bytes); });
    size.isNumber = true;
    size.share = [this](uint32_t row) {
        return tagOf(row) != nullptr ? shareOf(tagOf(row)->bytes, m_maxBytes) : QVariant();
    };
    size.less = by([](const TagSummary& tag) { return tag.bytes; });
    Column date(tr("Date"), of([](const TagSummary& tag) { return tagDateText(tag); }));
    date.titleTip = tr("Of the newest file of this tag");
    date.less = by([](const TagSummary& tag) { return tag.modifiedNs; });
    Column tags(tr("Tags"), [this](uint32_t row) {
        return at(row).read && !at(row).read->error ? countText(at(row).read->tags.names.size()) : u"–"_s;
    });
    tags.isNumber = true;
    tags.less = [this](uint32_t a, uint32_t b) {
        const auto count = [&](uint32_t row) { return at(row).read ? at(row).read->tags.names.size() : 0; };
        return count(a) < count(b);
    };
    Column findings(tr("Findings"), [this](uint32_t row) { return problemsText(at(row)); });
    findings.severity = [this](uint32_t row) { return severityOf(at(row)); };
    findings.muted = [this](uint32_t row) { return severityOf(at(row)) < 0; };
    findings.less = [this](uint32_t a, uint32_t b) { return severityOf(at(a)) < severityOf(at(b)); };
    setColumns({name, newest, step, kind, ranks, size, date, tags, findings});
}

void RunTableModel::setFolder(io::FileSystem& files, const RunsFolderPtr& folder)
{
    m_reader.cancel();
    m_runs.clear();
    m_maxBytes = 0;
    for (const std::string& run : folder ? folder->found.paths : std::vector<std::string>())
        m_runs.push_back({run, pathText(io::Path(run).lexically_relative(folder->path)), nullptr});
    rebuild();
    if (m_runs.empty())
        return;
    m_reader.run<RunSummary>(
        [&files, folder](const std::stop_token& token, const std::function<void(RunSummary)>& deliver) {
            JobContext job(token);
            for (const std::string& run : folder->found.paths) {
                auto summary = summarizeRun(files, *folder, run, defaultJobs(), job);
                if (!summary)
                    return; // cancelled
                deliver(std::move(*summary));
            }
        },
        [this](RunSummary run) { receive(std::move(run)); });
}

void RunTableModel::receive(RunSummary run)
{
    const auto known = std::find_if(
        m_runs.begin(), m_runs.end(), [&](const RunRow& row) { return row.folder == run.folder.native(); });
    if (known == m_runs.end())
        return;
    known->read = std::make_shared<const RunSummary>(std::move(run));
    if (const TagSummary* tag = tagOf(static_cast<uint32_t>(known - m_runs.begin())))
        m_maxBytes = std::max(m_maxBytes, tag->bytes);
    // Rows stay where they are until the user sorts again: one that moves cannot be clicked.
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

size_t RunTableModel::readCount() const
{
    return static_cast<size_t>(
        std::count_if(m_runs.begin(), m_runs.end(), [](const RunRow& run) { return run.read != nullptr; }));
}

io::Path RunTableModel::folderToOpen(uint32_t run) const
{
    const RunRow& row = at(run);
    const TagSummary* tag = row.read ? row.read->shown() : nullptr;
    return tag != nullptr ? tag->folder : io::Path(row.folder);
}

void RunTableModel::setFilter(const QString& text)
{
    m_filter = text.split(u' ', Qt::SkipEmptyParts);
    rebuild();
}

void RunTableModel::sort(int column, Qt::SortOrder order)
{
    m_sortColumn = column;
    m_sortOrder = order;
    rebuild();
}

void RunTableModel::rebuild()
{
    std::vector<uint32_t> rows = firstNumbers(m_runs.size());
    std::erase_if(rows, [this](uint32_t row) {
        if (m_filter.isEmpty())
            return false;
        const QString text = at(row).name % u' ' % newestText(at(row)) % u' '
            % (tagOf(row) != nullptr ? kindText(tagOf(row)->kind) : QString()) % u' ' % problemsText(at(row));
        return !holdsWords(text, m_filter);
    });
    setRows(m_sortColumn < 0 ? std::move(rows) : sortedBy(m_sortColumn, m_sortOrder, std::move(rows)));
}

} // namespace shardscope::ui
