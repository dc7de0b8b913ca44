// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/runs_page.h"

#include "core/base/parallel.h"
#include "core/engine/verify/run_tags.h"
#include "core/report/answers/tags_report.h"
#include "ui/controls/run_list_view.h"
#include "ui/controls/tag_history.h"
#include "ui/jobs/save_file.h"
#include "ui/session/shell_words.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/path_field.h"

#include <QLabel>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// As the command does, it reads the metadata of the newest tag that seems complete.
QString writeJson(io::FileSystem& files, TagsAnswer rows, const ReportHead& head, const SaveTarget& target)
{
    JobContext job;
    if (!rows.runs) {
        const auto run = tagsOf(files, rows.run.base, job);
        if (!run)
            return errorText(run.error());
        TagReader reader(files, *run, defaultJobs(), job);
        if (const Status read = reader.confirmNewest(rows.tags); !read)
            return errorText(read.error());
    }
    return saveText(target, [&](const TextSink& sink) { writeTagsJson(sink, rows, &head); });
}

} // namespace

PageEntry RunsPage::entry()
{
    return {PageId::Runs, u"runs"_s, u"actionRuns"_s, tr("Runs"), tr("&Runs"), u"tag"_s, u"runs"_s,
        &makePage<RunsPage>};
}

RunsPage::RunsPage(const PageContext& context, QWidget* parent)
    : Page(context, parent)
    , m_other(new QToolButton(this))
    , m_title(new ElidedLabel(this))
    , m_again(new QToolButton(this))
    , m_stack(new QStackedWidget(this))
    , m_runs(new RunListView(context.theme, context.session.files(), m_stack))
    , m_tags(new TagHistory(context.theme, context.session.tags(), m_stack))
    , m_empty(makeEmpty(u"runsEmpty"_s))
{
    setObjectName(u"runsPage"_s);
    m_other->setObjectName(u"runsOther"_s);
    m_other->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_other->setFocusPolicy(Qt::StrongFocus);
    m_title->setObjectName(u"runsTitle"_s);
    QFont bold = font();
    bold.setBold(true);
    m_title->setFont(bold);
    m_again->setObjectName(u"runsAgain"_s);
    m_again->setAutoRaise(true);
    m_again->setFocusPolicy(Qt::StrongFocus);
    m_again->setIcon(themedIcon(context.theme, u"reload"_s));
    m_again->setToolTip(tr("Read again"));
    m_again->setAccessibleName(tr("Read again"));
    m_stack->addWidget(m_runs);
    m_stack->addWidget(m_tags);
    m_stack->addWidget(m_empty);
    auto* head = new QHBoxLayout;
    head->setContentsMargins(12, 8, 8, 4);
    head->setSpacing(10);
    head->addWidget(m_other);
    head->addWidget(m_title, 1);
    head->addWidget(m_again);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addLayout(head);
    rows->addWidget(m_stack, 1);
    connect(m_other, &QToolButton::clicked, this, [this] { showsRuns() ? showTags() : showRuns(); });
    connect(m_again, &QToolButton::clicked, this, &RunsPage::readAgain);
    connect(&context.session, &Session::runsFound, this, [this] {
        m_runs->setFolder(m_context.session.runsFolder());
        showRuns();
    });
    connect(m_runs, &RunListView::openRequested, this,
        [this](const QByteArray& folder) { Q_EMIT openRequested(folder, false); });
    connect(m_tags, &TagHistory::openRequested, this,
        [this](const QByteArray& folder) { Q_EMIT openRequested(folder, true); });
    connect(m_runs, &RunListView::saveRequested, this, &RunsPage::askWhereToSave);
    connect(m_tags, &TagHistory::saveRequested, this, &RunsPage::askWhereToSave);
    connect(m_tags, &TagHistory::compareRequested, this, &RunsPage::compareRequested);
    connect(m_tags, &TagHistory::reshardRequested, this, &RunsPage::reshardRequested);
    m_runs->setFolder(context.session.runsFolder());
    showCheckpoint();
}

QString RunsPage::filterHint() const
{
    return tr("Filter runs and tags (Ctrl+F)");
}

void RunsPage::setFilter(const QString& text)
{
    m_filter = text;
    m_runs->setFilter(text);
    m_tags->setFilter(text);
}

bool RunsPage::isBusy() const
{
    return m_runs->isReading() || m_context.session.tags().isReading() || m_saver.isRunning();
}

bool RunsPage::showsRuns() const
{
    return m_stack->currentWidget() == m_runs;
}

void RunsPage::showCheckpoint()
{
    m_tags->setCheckpoint(m_checkpoint);
    if (m_checkpoint)
        return showTags();
    if (!m_context.session.runsFolder())
        m_runs->setFolder(nullptr);
    showRuns();
}

void RunsPage::showRuns()
{
    const bool isEmpty = !m_context.session.runsFolder();
    if (isEmpty)
        m_empty->setText(tr("Open a run to see its tags over time, or a folder that holds runs."));
    m_stack->setCurrentWidget(isEmpty ? static_cast<QWidget*>(m_empty) : m_runs);
    handFocusTo(this, m_stack->currentWidget());
    showHead();
}

void RunsPage::showTags()
{
    const bool isEmpty = !m_checkpoint || m_context.session.tags().tags().empty();
    if (isEmpty)
        m_empty->setText(tr("This checkpoint is no tag of a run, so there are no other tags to show."));
    m_stack->setCurrentWidget(isEmpty ? static_cast<QWidget*>(m_empty) : m_tags);
    handFocusTo(this, m_stack->currentWidget());
    showHead();
}

/// Where one is, and the way to the other view.
void RunsPage::showHead()
{
    const RunsFolderPtr& folder = m_context.session.runsFolder();
    const io::Path& run = m_context.session.tags().folder();
    const bool canSwitch = showsRuns() ? m_checkpoint != nullptr : folder != nullptr;
    m_other->setVisible(canSwitch);
    if (canSwitch) {
        m_other->setIcon(themedIcon(m_context.theme, showsRuns() ? u"forward"_s : u"back"_s));
        m_other->setText(showsRuns() ? tr("Tags of the Open Run") : tr("All Runs"));
    }
    const io::Path shown = showsRuns() && folder ? folder->path : run;
    m_title->setText(shown.empty() ? QString()
            : showsRuns()          ? tr("Runs in %1").arg(pathText(shown))
                                   : tr("Tags of %1").arg(pathText(shown)));
    m_again->setVisible(!shown.empty());
}

void RunsPage::askWhereToSave()
{
    askForPath(this,
        {.kind = PathQuestion::Kind::NewFile,
            .name = u"saveRunsDialog"_s,
            .title = tr("Save the Rows of the Table"),
            .filters = tr("CSV table (*.csv);;JSON answer (*.json)"),
            .suggested = showsRuns() ? u"runs.csv"_s : u"tags.csv"_s},
        [this](const QString& path) { saveRows(path); });
}

void RunsPage::saveRows(const QString& path)
{
    const bool isJson = path.endsWith(u".json"_s, Qt::CaseInsensitive);
    const TagsAnswer rows = showsRuns() ? m_runs->shown(isJson) : m_tags->shown(isJson);
    const ReportHead head = rowsHead(entry().name, m_filter, sourceWords(CheckPlace{rows.run.base, {}}));
    m_saver.save(
        [&files = m_context.session.files(), rows, head, isJson, target = SaveTarget{path, {rows.run.base}}] {
            return isJson ? writeJson(files, rows, head, target)
                          : saveText(target, [&](const TextSink& sink) { writeTagsCsv(sink, rows, head); });
        },
        tr("Saved the rows to %1.").arg(path));
}

void RunsPage::readAgain()
{
    if (showsRuns())
        m_context.session.open(m_context.session.runsFolder()->path);
    else
        m_context.session.tags().readAgain();
}

} // namespace shardscope::ui
