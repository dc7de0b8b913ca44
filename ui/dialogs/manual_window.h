// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

class QListWidget;
class QTextBrowser;

namespace shardscope::ui {

/// Sets the manual's page (core/report/documents/manual.h) for a widget and for all that it contains.
void setManualTopic(QWidget* widget, const QString& topic);
/// The topic of the widget, or of the nearest widget that contains it; empty if there is none.
QString manualTopicOf(const QWidget* widget);
/// For dialogs and further windows, which do not have the main window's keys: sets the topic, and F1 opens
/// the manual.
void addManualKey(QWidget* window, const QString& topic);

/// The pages of the manual, with a list of them. Not modal. Links lead from page to page.
class ManualWindow : public QDialog
{
    Q_OBJECT
public:
    /// Shows the manual that belongs to this window, at that page. Opens it if it is not open.
    static void open(QWidget* window, const QString& topic);

    explicit ManualWindow(QWidget* parent = nullptr);
    void showTopic(const QString& topic);
    [[nodiscard]] QString topic() const;

private:
    void followLink(const QUrl& link);

    QListWidget* m_topics;
    QTextBrowser* m_text;
};

} // namespace shardscope::ui
