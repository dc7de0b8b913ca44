// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>
#include <QTimer>

class QLineEdit;
class QListWidget;
class QListWidgetItem;
class QTextBrowser;
class QTextDocument;

namespace shardscope::ui {

/// Sets the manual's page (core/report/documents/manual.h) for a widget and for all that it contains.
void setManualTopic(QWidget* widget, const QString& topic);
/// The topic of the widget, or of the nearest widget that contains it; empty if there is none.
QString manualTopicOf(const QWidget* widget);
/// For dialogs and further windows, which do not have the main window's keys: sets the topic, and F1 opens
/// the manual.
void addManualKey(QWidget* window, const QString& topic);

/// The pages of the manual, with a list of them, in which a search shows the places that have all its words.
/// Not modal. Links lead from page to page.
class ManualWindow : public QDialog
{
    Q_OBJECT
public:
    /// Shows the manual that belongs to this window, at that page. Opens it if it is not open.
    static void open(QWidget* window, const QString& topic);

    explicit ManualWindow(QWidget* parent = nullptr);
    void showTopic(const QString& topic);
    [[nodiscard]] QString topic() const;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void followLink(const QUrl& link);
    /// All pages, or the places that have the words of the search.
    void fillList();
    void showItem(const QListWidgetItem* item);
    void showPlace(const QString& line);

    QLineEdit* m_search;
    QListWidget* m_topics;
    QTextBrowser* m_text;
    QTextDocument* m_page = nullptr; ///< that is shown
    QTimer m_refit; ///< its pictures and code to another width
};

} // namespace shardscope::ui
