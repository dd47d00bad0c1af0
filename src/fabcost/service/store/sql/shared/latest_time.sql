SELECT latest FROM server
