// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/widgets: widgets that show what they are given and know no checkpoint. Start with MessageBar, which
// pages and dialogs share.

#include "core/base/error.h"
#include "core/base/finding.h"
#include "ui/style/theme.h"

#include <QFrame>
#include <QStringList>

class QLabel;
class QScrollArea;
class QHBoxLayout;
class QPushButton;
class QToolButton;

namespace shardscope::ui {

/// A line at the top of its page: an error, a warning or an info, with buttons for what helps. Never modal.
class MessageBar : public QFrame
{
    Q_OBJECT
public:
    explicit MessageBar(Theme& theme, QWidget* parent = nullptr);

    void showMessage(Severity severity, const QString& text, const QStringList& actions = {});
    void showError(const Error& error);
    [[nodiscard]] QString text() const;

Q_SIGNALS:
    /// The button of one of the actions was pressed.
    void actionTriggered(int action);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void applyTheme();
    void fitText();
    void showActions(const QStringList& actions);

    Theme& m_theme;
    Severity m_severity = Severity::Info;
    QLabel* m_icon;
    QScrollArea* m_scroll; ///< a text of many lines scrolls: it must not push its page away
    QLabel* m_text;
    QHBoxLayout* m_row = nullptr;
    QList<QPushButton*> m_actions; ///< more than are shown are hidden
    QToolButton* m_close;
};

} // namespace shardscope::ui
