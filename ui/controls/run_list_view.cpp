// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/run_list_view.h"

#include "core/report/answers/tags_report.h"
#include "ui/controls/table_setup.h"
#include "ui/session/runs/run_table.h"
#include "ui/text/text.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/message_bar.h"

#include <QAction>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMostWidth = 260;

} // namespace

RunListView::RunListView(Theme& theme, io::FileSystem& files, QWidget* parent)
    : QWidget(parent)
    , m_files(files)
    , m_messages(new MessageBar(theme, this))
    , m_model(new RunTableModel(this))
    , m_table(new QTableView(this))
    , m_note(new QLabel(this))
{
    m_messages->setObjectName(u"runsMessages"_s);
    m_messages->hide();
    prepareTable(m_table, theme, u"runTable"_s, tr("Runs"));
    m_table->setModel(m_model);
    m_table->setSortingEnabled(true);
    m_table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    QAction* open = addViewAction(m_table, tr("Open"));
    open->setObjectName(u"runOpen"_s);
    connect(open, &QAction::triggered, this, &RunListView::openCurrent);
    m_save = addViewAction(m_table, tr("Save Table…"));
    m_save->setObjectName(u"runsSave"_s);
    connect(m_save, &QAction::triggered, this, &RunListView::saveRequested);
    connect(m_table, &QTableView::activated, this, &RunListView::openCurrent);
    m_note->setObjectName(u"runsNote"_s);
    m_note->setWordWrap(true);
    m_note->setTextFormat(Qt::PlainText);
    m_note->setContentsMargins(12, 6, 12, 8);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_messages);
    rows->addWidget(m_table, 1);
    rows->addWidget(m_note);
    connect(m_model, &QAbstractItemModel::dataChanged, this, [this] {
        fitColumns(m_table, kMostWidth);
        showNote();
    });
    handFocusTo(this, m_table);
}

void RunListView::setFolder(const RunsFolderPtr& folder)
{
    m_folder = folder;
    m_model->setFolder(m_files, folder);
    if (m_model->rowCount() > 0)
        m_table->setCurrentIndex(m_model->index(0, 0));
    m_messages->hide();
    if (folder && !folder->found.unreadable.empty()) {
        const std::vector<Error>& errors = folder->found.unreadable;
        const QString first = errorText(errors.front());
        m_messages->showMessage(Severity::Warning,
            errors.size() == 1 ? tr("A folder was not searched, and may hold a run: %1").arg(first)
                               : tr("%1 folders were not searched, and may hold runs. The first: %2")
                                     .arg(countText(errors.size()), first));
    }
    showNote();
}

void RunListView::setFilter(const QString& text)
{
    m_model->setFilter(text);
    showNote();
}

TagsAnswer RunListView::shown(bool isSorted) const
{
    TagsAnswer out{.path = m_folder->path.native(), .run = {}, .tags = {}, .runs = RunsAnswer{*m_folder, {}}};
    out.run.base = m_folder->path;
    std::vector<uint32_t> rows = m_model->rows();
    if (isSorted)
        std::sort(rows.begin(), rows.end());
    for (const uint32_t row : rows)
        if (const auto& read = m_model->runs()[row].read)
            out.runs->runs.push_back(*read);
    return out;
}

bool RunListView::isReading() const
{
    return m_model->isReading();
}

void RunListView::showNote()
{
    // A table with runs that were not read would look as if they had nothing.
    m_save->setEnabled(m_folder && m_model->readCount() == m_model->runs().size());
    if (!m_folder)
        return m_note->clear();
    const FoundRuns& found = m_folder->found;
    const size_t count = found.paths.size();
    QStringList out;
    if (static_cast<size_t>(m_model->rowCount()) < count)
        out.append(tr("The filter shows %1 of %2 runs.").arg(m_model->rowCount()).arg(count));
    if (m_model->readCount() < count)
        out.append(tr("%1 of %2 runs read.").arg(countText(m_model->readCount()), countText(count)));
    else
        out.append(count == 1 ? tr("1 run.") : tr("%1 runs.").arg(countText(count)));
    out.append(QString::fromUtf8(kRunsNotChecked.data(), static_cast<qsizetype>(kRunsNotChecked.size())));
    if (!found.links.empty())
        out.append(found.links.size() == 1 ? tr("1 link was not followed.")
                                           : tr("%1 links were not followed.").arg(found.links.size()));
    if (found.more)
        out.append(tr("Not all folders below this one were searched: there may be more runs."));
    m_note->setText(out.join(u' '));
}

void RunListView::openCurrent()
{
    const QModelIndex at = m_table->currentIndex();
    if (at.isValid())
        Q_EMIT openRequested(
            QByteArray::fromStdString(m_model->folderToOpen(m_model->rowAt(at.row())).native()));
}

} // namespace shardscope::ui
