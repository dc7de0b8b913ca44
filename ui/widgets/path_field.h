// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include <functional>

class QLineEdit;
class QPushButton;

namespace shardscope::ui {

/// A question for a path, as askForPath() asks it.
struct PathQuestion {
    enum class Kind : uint8_t { Folder, TargetFolder, File, NewFile };

    Kind kind = Kind::Folder; ///< of a TargetFolder, only folders are listed
    QString name; ///< object name of the dialog
    QString title;
    QString start = {}; ///< the folder to begin in
    QString filters = {}; ///< "PNG picture (*.png);;SVG drawing (*.svg)"
    QString suggested = {}; ///< name of a NewFile; its ending is added to names without one
};

/// Opens the file dialog, which belongs to `parent`; `then` gets the path that was chosen.
void askForPath(
    QWidget* parent, const PathQuestion& question, const std::function<void(const QString&)>& then);

/// A line for a path, with a button that asks for it.
class PathField : public QWidget
{
    Q_OBJECT
public:
    explicit PathField(PathQuestion question, QWidget* parent = nullptr);

    [[nodiscard]] QLineEdit* line() const { return m_line; }
    [[nodiscard]] QPushButton* button() const { return m_button; }
    [[nodiscard]] QString path() const;

Q_SIGNALS:
    /// A path was typed or chosen, not set by the program.
    void edited();

private:
    PathQuestion m_question;
    QLineEdit* m_line;
    QPushButton* m_button;
};

} // namespace shardscope::ui
