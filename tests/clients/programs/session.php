<?php
// SPDX-License-Identifier: BSD-3-Clause
// The pages that ../sessions.py visits, for the web server of php-cli.
error_reporting(0);
session_start();
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
header('Content-Type: text/plain');
if (str_starts_with($path, '/login/')) {
    $_SESSION = ['name' => substr($path, 7), 'count' => 0];
} elseif ($path == '/logout') {
    session_destroy();
    exit('bye');
} elseif (!isset($_SESSION['name'])) {
    exit('nobody');
} else {
    $count = $_SESSION['count'];
    usleep($path == '/slow' ? 50000 : 0);
    $_SESSION['count'] = $count + 1;
}
// What is shown must be stored: a failure to write makes this page fail.
if (!session_write_close()) {
    http_response_code(500);
}
echo $_SESSION['name'], ' ', $_SESSION['count'];
