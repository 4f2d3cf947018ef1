{{ drs_changes('drs_json', deleted_row_in='old') }}
