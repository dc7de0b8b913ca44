// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/controls/file_saver.h"
#include "ui/models/health_table_model.h"
#include "ui/pages/page.h"
#include "ui/session/health_run.h"

class QComboBox;
class QLabel;
class QListWidget;
class QPushButton;
class QSplitter;
class QTableView;

namespace shardscope::ui {

class MessageBar;
class SeriesChart;

/// Whether the training state looks sound: alarms in words, figures by layer or parameter, and a figure over
/// the layers and over the tags of the run. Reads when it is first shown.
class HealthPage : public Page
{
    Q_OBJECT
public:
    [[nodiscard]] static PageEntry entry();
    HealthPage(const PageContext& context, QWidget* parent);

    [[nodiscard]] bool isBusy() const override { return m_run.isRunning() || (m_isWanted && isVisible()); }
    [[nodiscard]] QListWidget* alarmList() const { return m_alarms; }
    [[nodiscard]] QTableView* table() const { return m_table; }
    [[nodiscard]] HealthTableModel* model() const { return m_model; }
    /// Writes the rows of the table as CSV, or all that was read as JSON; a message reports the result.
    void saveRows(const QString& path);

protected:
    void showCheckpoint() override;
    void showEvent(QShowEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QWidget* makeBar();
    void makeLayout();
    void connectParts();
    void startIfShown();
    void start(bool exact);
    void readExactly();
    void showFacts();
    void showProgress();
    void showAlarms(const HealthFacts& facts);
    void addAlarm(const HealthAlarm& alarm, int number);
    [[nodiscard]] QString summaryText(const HealthFacts& facts) const;
    void showRows();
    void showCharts();
    void askWhereToSave();
    void goToAlarm(int number);
    void chooseRow(int row);
    [[nodiscard]] bool isByParam() const;
    [[nodiscard]] HealthQuantity quantity() const;

    HealthRun m_run;
    HealthFactsPtr m_facts; ///< that are shown
    HealthTableModel* m_model;
    MessageBar* m_messages;
    QLabel* m_summary;
    QComboBox* m_rows;
    QComboBox* m_quantity;
    QPushButton* m_exact;
    QListWidget* m_alarms;
    QTableView* m_table;
    SeriesChart* m_overLayers;
    SeriesChart* m_overTags;
    QSplitter* m_splitter;
    QLabel* m_empty;
    std::string m_chosen; ///< the name of the row
    bool m_isWanted = false; ///< a checkpoint was opened, and not read yet
    bool m_filling = false;
    FileSaver m_saver{[this](Severity severity, const QString& text) { Q_EMIT told(severity, text); }};
};

} // namespace shardscope::ui
