// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QWidget>

class QLineEdit;

namespace shardscope::ui {

/// The window's choices as a command line of `shardscope`, to read and to copy.
class CommandLine : public QWidget
{
    Q_OBJECT
public:
    /// `name` is the object name of the line, and with "Copy" behind it that of the button.
    CommandLine(Theme& theme, const QString& name, QWidget* parent = nullptr);

    void setCommand(const QString& command);
    [[nodiscard]] QString command() const;

private:
    QLineEdit* m_line;
};

} // namespace shardscope::ui
