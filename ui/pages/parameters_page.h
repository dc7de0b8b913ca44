// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/controls/file_saver.h"
#include "ui/jobs/latest_only.h"
#include "ui/models/param_marks.h"
#include "ui/models/parameters/parameter_table_model.h"
#include "ui/models/selection.h"
#include "ui/pages/page.h"
#include "ui/session/findings/finding_store.h"

#include <QTimer>

#include <map>
#include <optional>

class QAction;
class QLabel;
class QTableView;

namespace shardscope::ui {

/// The table of parameters: filtered and sorted on a worker, selection shared with all views.
class ParametersPage : public Page
{
    Q_OBJECT
public:
    [[nodiscard]] static PageEntry entry();
    ParametersPage(const PageContext& context, QWidget* parent);

    [[nodiscard]] QString filterHint() const override { return tr("Filter parameters (Ctrl+F)"); }
    void setFilter(const QString& text) override;
    [[nodiscard]] std::vector<FilterTerm> filterTerms() const override
    {
        return ParameterFilter::terms(m_index.get());
    }
    [[nodiscard]] ParameterIndexPtr parameters() const override { return m_model->parameterIndex(); }
    [[nodiscard]] QTableView* table() const { return m_table; }
    [[nodiscard]] ParameterTableModel* model() const { return m_model; }
    [[nodiscard]] bool servesOthers() const override { return true; } ///< the find field, the map's light
    void sortBy(ParamColumn column, Qt::SortOrder order);
    /// Writes the rows on screen to a CSV or JSON file; a message reports the result.
    void saveRows(const QString& path);
    [[nodiscard]] bool isBusy() const override
    {
        return m_indexer.isRunning() || m_querier.isRunning() || m_context.findings.marker().isBusy();
    }

protected:
    void showCheckpoint() override;
    void follow(const SelectedThing& thing) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void query();
    /// Hides columns that say the same in every row, and gives numbers and shapes their full width.
    void fitColumns();
    void keepColumns();
    void fitName();
    void showColumnMenu(const QPoint& position);
    [[nodiscard]] QString constantsText() const;
    void showRows(ParameterRows result);
    /// What is read for a filter such as `has:nan`, and whether all of it was.
    void showValues();
    void showFindings();
    void onValueAction();
    [[nodiscard]] bool needsValues() const;
    void showEmptyState();
    void askWhereToSave();

    QTableView* m_table;
    ParameterTableModel* m_model;
    QAction* m_save = nullptr; ///< the rows
    QLabel* m_summary;
    QLabel* m_empty;
    ParameterIndexPtr m_index;
    QString m_filter;
    std::optional<QString> m_rowsFilter; ///< that made the rows; none: they are not there yet
    ReadValuesPtr m_values; ///< that the rows on screen were chosen by
    std::map<int, bool> m_columnsChosen; ///< shown or hidden by the user
    QTimer m_storeColumns; ///< a while after the user has changed one
    bool m_widthsChosen = false; ///< the user has changed a width
    bool m_fitting = false;
    ParamColumn m_column = ParamColumn::Name;
    bool m_descending = false;
    bool m_following = false;
    LatestOnly m_indexer{WorkLength::Short};
    LatestOnly m_querier{WorkLength::Short};
    FileSaver m_saver{[this](Severity severity, const QString& text) { Q_EMIT told(severity, text); }};
};

} // namespace shardscope::ui
