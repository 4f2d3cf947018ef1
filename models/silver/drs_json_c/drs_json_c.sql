{{ drs_changes('drs_json_c', deleted_row_in='data') }}
