<?php
// Gives a site its people, and says with what its administrator may be asked.
require getcwd() . '/wp-load.php';

update_option('blogname', 'Harbour & Lighthouse');
update_option('permalink_structure', (string) getenv('WP_PERMALINKS'));
$keeper = ['user_login' => 'keeper', 'user_pass' => 'lighthouse', 'user_email' => 'keeper@example.com', 'role' => 'author'];
$id = wp_insert_user($keeper);
wp_insert_term('News & "views"', 'category');
[$password] = WP_Application_Passwords::create_new_application_password(1, ['name' => 'tests']);
echo json_encode(['keeper' => $id, 'administrator' => get_userdata(1)->user_login, 'password' => $password]), "\n";
