// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QLineEdit>

class QCompleter;
class QStringListModel;

namespace shardscope::ui {

/// The filter line of the toolbar: its frame and tool tip show whether the text is valid. It completes terms
/// while they are typed; the glass (Alt+Down) has the saved filters.
class FilterField : public QLineEdit
{
    Q_OBJECT
public:
    explicit FilterField(Theme& theme, QWidget* parent = nullptr);

    /// Empty: the text is fine.
    void setProblem(const QString& problem);
    [[nodiscard]] const QString& problem() const { return m_problem; }
    /// The filters that the menu offers, in this order.
    void setSaved(const QStringList& filters) { m_saved = filters; }
    /// Terms that can be completed, such as "layer:".
    void setTerms(const QStringList& terms);
    /// The menu of saved filters.
    void showSaved();

Q_SIGNALS:
    /// Enter: show the rows.
    void accepted();
    /// The user wants this list of saved filters from now on.
    void savedChanged(const QStringList& filters);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void offerTerms(const QString& text);
    void insertTerm(const QString& term);
    void save(const QStringList& filters);

    Theme& m_theme;
    QString m_problem;
    QStringList m_saved;
    QStringListModel* m_terms;
    QCompleter* m_completer;
};

} // namespace shardscope::ui
