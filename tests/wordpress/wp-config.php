<?php
// The settings of a WordPress site of the tests: on loopback, its database a file.
foreach (['DB_NAME', 'DB_USER', 'DB_PASSWORD', 'DB_HOST', 'DB_COLLATE'] as $name) {
    define($name, '');
}
define('DB_CHARSET', 'utf8mb4');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define($name . '_KEY', 'key of ' . $name);
    define($name . '_SALT', 'salt of ' . $name);
}
$table_prefix = 'wp_';
define('WP_HOME', getenv('WP_URL'));
define('WP_SITEURL', WP_HOME);
// Without it, application passwords want https.
define('WP_ENVIRONMENT_TYPE', 'local');
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
