// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/settings.h"

#include <QDialog>

class QDialogButtonBox;
class QFormLayout;
class QListWidget;

namespace shardscope::ui {

/// All stored settings of the window in one place. Every change is applied and stored at once.
class SettingsDialog : public QDialog
{
    Q_OBJECT
public:
    explicit SettingsDialog(Settings& settings, QWidget* parent = nullptr);

Q_SIGNALS:
    void themeChosen(shardscope::ui::ThemeMode mode);
    void textSizeChosen(int percent);
    void jobLimitChosen(int jobs);

protected:
    void changeEvent(QEvent* event) override;

private:
    void fit();
    void addLook(QFormLayout* rows);
    void addStart(QFormLayout* rows);
    void addLayouts(QFormLayout* rows);
    void fillLayouts();

    Settings& m_settings;
    QWidget* m_content;
    QDialogButtonBox* m_buttons;
    QListWidget* m_layouts;
};

} // namespace shardscope::ui
