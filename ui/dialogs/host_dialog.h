// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "ui/jobs/latest_only.h"
#include "ui/style/theme.h"

#include <QDialog>
#include <QStringList>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace shardscope::ui {

class MessageBar;

/// Chooses a folder or file on another host: the host by name, then by walking through its folders. Deletes
/// itself when it is closed.
class HostDialog : public QDialog
{
    Q_OBJECT
public:
    /// `hosts`: those that were used before; the names in the configuration of ssh are added.
    HostDialog(io::FileSystem& files, Theme& theme, const QStringList& hosts, QWidget* parent = nullptr);

    /// Puts a path of another host into the fields; nothing connects before the user says so.
    void fill(const io::Path& path);
    /// The folder that is listed, or what is selected in it; empty if there is no host.
    [[nodiscard]] io::Path chosen() const;

Q_SIGNALS:
    void pathChosen(const shardscope::io::Path& path);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Listing;
    void makeLayout();
    void addConfiguredHosts();
    /// Lists the folder that is typed, or one below what is listed; "..": the one above.
    void look(const std::string& below = {});
    void show(const Listing& listing);
    void clear();
    /// What the list says while nothing is in it.
    void showHint(const QString& text);
    void choose();
    /// What is typed as a path of the file system. Empty without a host.
    [[nodiscard]] io::Path folder() const;

    io::FileSystem& m_files;
    QComboBox* m_host;
    QLineEdit* m_folder;
    MessageBar* m_messages;
    QTreeWidget* m_list;
    QLabel* m_hint; ///< in the empty list
    QLabel* m_summary;
    QPushButton* m_open;
    io::Path m_listed; ///< empty: nothing is
    LatestOnly m_worker{WorkLength::Long};
    LatestOnly m_configWorker{WorkLength::Short};
};

} // namespace shardscope::ui
