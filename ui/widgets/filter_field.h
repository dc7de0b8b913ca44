// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QLineEdit>

namespace shardscope::ui {

/// The find field of the toolbar: its frame shows whether the text is a valid filter, and a line below the
/// wrong word where it is not. The glass (Alt+Down) has the saved filters.
class FilterField : public QLineEdit
{
    Q_OBJECT
public:
    explicit FilterField(Theme& theme, QWidget* parent = nullptr);

    /// Why the text is no filter, and which part of it; empty: it is fine.
    void setProblem(const QString& problem, qsizetype at = 0, qsizetype length = 0);
    [[nodiscard]] const QString& problem() const { return m_problem; }
    /// The filters that the menu offers, in this order.
    void setSaved(const QStringList& filters) { m_saved = filters; }
    [[nodiscard]] const QStringList& saved() const { return m_saved; }
    /// Where the wrong word is painted; null while there is none.
    [[nodiscard]] QRect problemRect() const;
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
    void save(const QStringList& filters);

    Theme& m_theme;
    QString m_problem;
    QStringList m_saved;
    qsizetype m_problemAt = 0;
    qsizetype m_problemLength = 0;
};

} // namespace shardscope::ui
