// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QLineEdit>

class QCompleter;

namespace shardscope::ui {

/// The filter line of the toolbar: its frame and tool tip show whether the text is valid.
class FilterField : public QLineEdit
{
    Q_OBJECT
public:
    explicit FilterField(Theme& theme, QWidget* parent = nullptr);

    /// Empty: the text is fine.
    void setProblem(const QString& problem);
    [[nodiscard]] const QString& problem() const { return m_problem; }

Q_SIGNALS:
    /// Enter: show the rows.
    void accepted();

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    Theme& m_theme;
    QString m_problem;
};

} // namespace shardscope::ui
